"""Audit entries, as rows for COPY."""

from collections.abc import Iterator
from operator import itemgetter
from typing import Any

from audit.export import COLUMNS
from bench.loading.copying import NULL, copy
from bench.loading.identity import mix
from bench.loading.instants import instant, written
from bench.loading.probes import (
    DOCUMENTS,
    NEWEST,
    PROBES,
    PROBES_OF_A_KIND,
    SPREAD,
    WORKSPACES,
    document,
    key,
    workspace,
)

AGENT = "python-requests/2.32"
ADDRESSES = [f"198.51.{n // 250}.{n % 250 + 1}" for n in range(5_000)]
FILE_TYPES = ("signed", "signed", "signed", "original", "certificate")

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
# An entry's time and request are its own; the rest of it comes again: as a row's end.
OWN = ("created_at", "request_id")
REST = tuple(column for column in COLUMNS if column not in OWN)
DIFFERENT = 200_000  # ends of rows
_rest = itemgetter(*REST)


class Population:
    """Workspaces with keys, documents and people; a few have most of the entries."""

    def __init__(self) -> None:
        self.workspaces = [EMPTY | workspace(number) for number in range(WORKSPACES)]
        self.keys = [key(number) for number in range(WORKSPACES * 3)]
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
            found |= document(number * DOCUMENTS + which % DOCUMENTS)
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


def lines(count: int) -> Iterator[str]:
    """Entries in the order of their times; the probes are spread evenly among them."""
    population = Population()
    ends = [
        "\t".join(_rest(population.entry(mix(number)))) for number in range(min(count, DIFFERENT))
    ]
    probes = ["\t".join(_rest(EMPTY | probe)) for probe in PROBES]
    every = count // (PROBES_OF_A_KIND * len(probes))
    start = instant(NEWEST - SPREAD)
    step = (instant(NEWEST) - start) // count
    for number in range(count):
        is_probe = number % every == 0
        end = probes[number // every % len(probes)] if is_probe else ends[number % len(ends)]
        yield f"{written(start + step * number)}\t{number * 2 + 1:032x}\t{end}"


def load(count: int) -> None:
    copy("audit_auditentry", OWN + REST, lines(count), "audit entries", count)
