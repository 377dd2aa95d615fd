"""What the audit history is about, and the entries in it that filters and searches look for."""

from datetime import UTC, datetime, timedelta
from uuid import UUID

from bench.loading.identity import identifier

WORKSPACES = 10_000
DOCUMENTS = 200  # of each workspace
NEWEST = datetime(2026, 6, 1, 9, tzinfo=UTC)
SPREAD = timedelta(days=365)
PROBES_OF_A_KIND = 150  # however many other entries there are: three screens
KEY_NAMES = ("Zapier", "Nightly copy", "CRM sync", "Reporting", "Archive", "Data warehouse")
# Kinds of ids, apart from those of the documents and workspaces that exist.
_WORKSPACE, _KEY, _DOCUMENT = range(16, 19)


def workspace(number: int) -> dict[str, str]:
    return {"workspace_id": identifier(_WORKSPACE, number), "workspace_name": f"Party {number}"}


def key(number: int) -> dict[str, str]:
    key = identifier(_KEY, number)
    return {"key_id": key, "key_name": KEY_NAMES[number % 6], "key_prefix": f"dtd_{key[:8]}"}


def document(number: int) -> dict[str, str]:
    return {"document_id": identifier(_DOCUMENT, number), "document_title": f"Agreement {number}"}


_THE_WORKSPACE = workspace(WORKSPACES) | {"workspace_name": "Probe"}
_THE_KEY = key(WORKSPACES * 3) | {"key_name": "Probe key"}
_THE_DOCUMENT = document(WORKSPACES * DOCUMENTS)
_PERSON, _MEMBER = "probe@bench.example", "member@bench.example"
_REQUEST_ID = f"{1:032x}"  # of one entry only
PROBES: tuple[dict[str, str], ...] = (
    _THE_WORKSPACE | _THE_KEY | _THE_DOCUMENT | {"action": "document.downloaded"},
    _THE_WORKSPACE | _THE_KEY | {"action": "key.revoked", "person": _PERSON},
    _THE_WORKSPACE | {"action": "member.added", "person": _PERSON, "member": _MEMBER},
)


def filters() -> dict[str, str]:
    """The history's filters and searches: in words → the query that leads to the probes."""
    in_workspace = f"workspace_id__exact={UUID(_THE_WORKSPACE['workspace_id'])}"
    the_document, the_key = UUID(_THE_DOCUMENT["document_id"]), UUID(_THE_KEY["key_id"])
    day = (NEWEST - SPREAD / 2).date()
    return {
        "all of it": "",
        "a workspace": in_workspace,
        "a rare action": "action__exact=key.revoked",
        "a common action": "action__exact=document.downloaded",
        "a workspace and an action": f"{in_workspace}&action__exact=key.revoked",
        "dates": f"since={day - timedelta(days=30)}&until={day}",
        "a document": f"document_id__exact={the_document}",
        "a key": f"key_id__exact={the_key}",
        "search: a key's first characters": f"q={_THE_KEY['key_prefix']}",
        "search: a key's name": "q=probe+key",
        "search: a person": f"q={_PERSON}",
        "search: a member": f"q={_MEMBER}",
        "search: a document's id": f"q={the_document}",
        "search: a request's id": f"q={_REQUEST_ID}",
    }
