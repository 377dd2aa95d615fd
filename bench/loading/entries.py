"""Audit entries, as rows for COPY."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from operator import itemgetter
from typing import Any
from uuid import UUID

from audit.export import COLUMNS
from bench.loading.copying import NULL, copy
from bench.loading.identity import identifier, mix

WORKSPACES = 10_000
DOCUMENTS = 200  # of each workspace
NEWEST = datetime(2026, 6, 1, 9, tzinfo=UTC)
SPREAD = timedelta(days=365)
AGENT = "python-requests/2.32"
ADDRESSES = [f"198.51.{n // 250}.{n % 250 + 1}" for n in range(5_000)]
KEY_NAMES = ("Zapier", "Nightly copy", "CRM sync", "Reporting", "Archive", "Data warehouse")
FILE_TYPES = ("signed", "signed", "signed", "original", "certificate")
PROBES = 150  # entries of each kind that filters and searches look for, however many there are
# Kinds of ids, apart from those of the documents and workspaces that exist.
_WORKSPACE, _KEY, _DOCUMENT = range(16, 19)

# How often each thing happens, in a thousand.
FREQUENCY = {
    "document.downloaded": 480,
    "document.download_ended": 470,
    "login.succeeded": 30,
    "login.failed": 8,
    "key.created": 4,
    "key.revoked": 2,
    "key.deleted": 1,
    "member.added": 2,
    "member.removed": 1,
    "member.role_changed": 1,
    "workspace.plan_changed": 1,
}
ACTIONS = [action for action, often in FREQUENCY.items() for _ in range(often)]
EMPTY: dict[str, Any] = dict.fromkeys(COLUMNS, "") | dict.fromkeys(
    ("workspace_id", "key_id", "document_id", "bytes_sent"), NULL
)
_in_order = itemgetter(*COLUMNS)


def _workspace(number: int) -> dict[str, str]:
    return {"workspace_id": identifier(_WORKSPACE, number), "workspace_name": f"Party {number}"}


def _key(number: int) -> dict[str, str]:
    key = identifier(_KEY, number)
    return {"key_id": key, "key_name": KEY_NAMES[number % 6], "key_prefix": f"dtd_{key[:8]}"}


def _document(number: int) -> dict[str, str]:
    return {"document_id": identifier(_DOCUMENT, number), "document_title": f"Agreement {number}"}


class Population:
    """Workspaces with keys, documents and people; a few have most of the entries."""

    def __init__(self) -> None:
        self.workspaces = [EMPTY | _workspace(number) for number in range(WORKSPACES)]
        self.keys = [_key(number) for number in range(WORKSPACES * 3)]
        # The square makes the first workspaces busy and the last ones quiet.
        self.busy = [int(WORKSPACES * (n / 65536) ** 2) for n in range(65536)]

    def entry(self, random: int) -> dict[str, Any]:
        """One entry's facts, without its time, of 64 random bits."""
        action = ACTIONS[random % 1000]
        number = self.busy[random >> 48]
        which = random >> 16
        address = ADDRESSES[which % 5_000]
        person = f"person{which % 4}@party{number}.example"
        if action.startswith("login"):
            found = EMPTY | {"person": person, "address": address, "user_agent": "Mozilla/5.0"}
        elif action.startswith("document"):
            found = self.workspaces[number] | self.keys[number * 3 + which % 3]
            found |= _document(number * DOCUMENTS + which % DOCUMENTS)
            found["file_type"] = FILE_TYPES[which % 5]
            found["user_agent"], found["address"] = AGENT, address
            if action == "document.download_ended":
                found["detail"], found["bytes_sent"] = "complete", f"{which % 2_000_000}"
        else:
            found = self.workspaces[number] | {"person": person}
            if action.startswith("key"):
                found |= self.keys[number * 3 + which % 3]
            elif action.startswith("member"):
                found["member"], found["detail"] = f"person9@party{number}.example", "MEMBER"
            else:
                found["detail"] = "FREE → PRO"
        found["action"] = action
        return found


class Probe:
    """What filters and searches look for: `PROBES` entries of each kind among all others."""

    workspace = {"workspace_id": identifier(_WORKSPACE, WORKSPACES), "workspace_name": "Probe"}
    key = _key(WORKSPACES * 3) | {"key_name": "Probe key"}
    document = _document(WORKSPACES * DOCUMENTS)
    person = "probe@bench.example"
    member = "member@bench.example"
    request_id = f"{1:032x}"  # of one entry only

    KINDS: tuple[dict[str, Any], ...] = (
        EMPTY | workspace | key | document | {"action": "document.downloaded", "address": "::1"},
        EMPTY | workspace | key | {"action": "key.revoked", "person": person},
        EMPTY | workspace | {"action": "member.added", "person": person, "member": member},
    )


def lines(count: int) -> Iterator[str]:
    """Entries in the order of their times; the probes are spread evenly among them."""
    population = Population()
    every = count // (PROBES * len(Probe.KINDS))
    start, step = NEWEST - SPREAD, SPREAD / count
    for number in range(count):
        if number % every == 0:
            found = dict(Probe.KINDS[number // every % len(Probe.KINDS)])
        else:
            found = population.entry(mix(number))
        found["created_at"] = str(start + step * number)
        found["request_id"] = f"{number * 2 + 1:032x}"
        yield "\t".join(_in_order(found))


def load(count: int) -> None:
    copy("audit_auditentry", COLUMNS, lines(count), "audit entries", count)


def probe_filters() -> dict[str, str]:
    """The history's filters and searches: in words → the query that leads to the probes."""
    workspace, key = Probe.workspace["workspace_id"], Probe.key["key_id"]
    document = Probe.document["document_id"]
    day = (NEWEST - SPREAD / 2).date()
    return {
        "first screen": "",
        "a workspace": f"workspace_id__exact={UUID(workspace)}",
        "a rare action": "action__exact=key.revoked",
        "a common action": "action__exact=document.downloaded",
        "a workspace and an action": f"workspace_id__exact={UUID(workspace)}"
        "&action__exact=key.revoked",
        "dates": f"since={day - timedelta(days=30)}&until={day}",
        "a document's trail": f"document_id__exact={UUID(document)}",
        "a key's entries": f"key_id__exact={UUID(key)}",
        "search: a key's first characters": f"q={Probe.key['key_prefix']}",
        "search: a key's name": "q=probe+key",
        "search: a person": f"q={Probe.person}",
        "search: a member": f"q={Probe.member}",
        "search: a document's id": f"q={UUID(document)}",
        "search: a request's id": f"q={Probe.request_id}",
    }
