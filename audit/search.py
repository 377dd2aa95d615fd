"""What a search of the audit log is recognised as.

People paste what they have: a URL of the API, an id in quotes, a sentence with an id in it, the
eight characters of a request id that the list shows, an address, a day, the beginning of a name.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Q

from audit import times
from audit.beginnings import MOST, NAMES, Kind, conditions_of_ids, conditions_of_names
from audit.scope import Scope, workspace_directory
from config.key_format import PREFIX, PUBLIC_LENGTH

MOST_IDS = 5  # of one text
_KEY = re.compile(rf"{PREFIX}[A-Za-z0-9]*")
_HEX = "[0-9A-Fa-f]"
_UUID = re.compile(rf"(?<!{_HEX}){_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}}(?!{_HEX})")
_DIGITS = re.compile(rf"(?<![0-9A-Za-z-]){_HEX}{{32}}(?![0-9A-Za-z-])")
_BEGINNING = re.compile(rf"{_HEX}{{8}}")
_EMAIL = re.compile(r"[^\s@<>\"'“”,;:()]+@[^\s@<>\"'“”,;:()]+\w")
_AROUND = " \t\r\n\"'`“”„‘’«»‹›,;:.…!?()[]{}<>"  # what a pasted value may have around it
_BETWEEN = re.compile(r"[\s\"'`“”„‘’,;()<>\[\]{}|=]+")


@dataclass(frozen=True)
class Recognised:
    """One thing that a text may be.

    Attributes:
        what: "Document id", "Beginning of a user’s login".
        value: the part of the text that it is.
        conditions: the entries that it finds: each condition is served by one index.
        scoped: whether the conditions find entries of the user's workspaces only.
        request: whether it may name a request that is not in the log, since it was refused.
        span: the time, if it is one.
    """

    what: str
    value: str
    conditions: tuple[Q, ...]
    scoped: bool = False
    request: bool = False
    span: times.Span | None = None


def without_raw_key(text: str) -> str:
    """The text; or only the prefix of a key, if the text contains one."""
    key = _KEY.search(text)
    return key[0][:PUBLIC_LENGTH] if key else text


def ids_in(text: str) -> list[UUID]:
    """The ids in a text, with dashes or without, in any case, at most five."""
    found = [each[0] for each in chain(_UUID.finditer(text), _DIGITS.finditer(text))]
    return list(dict.fromkeys(map(UUID, found)))[:MOST_IDS]


def beginning_in(text: str) -> str:
    """The eight hexadecimal digits that lists show of an id, in lower case; "" for other texts."""
    word = text.strip(_AROUND)
    return word.lower() if _BEGINNING.fullmatch(word) else ""


def recognise(text: str, scope: Scope) -> list[Recognised]:
    """What a text may be. The certain comes first: if there is an id in it, no name is looked for.

    Args:
        text: without a raw key.
    """
    if text.startswith(PREFIX):
        key = Q(key_prefix=text)
        return [Recognised("First characters of a key", text, (key,), request=True)]
    return (
        ids_and_addresses(text)
        or _time(text)
        or [*_beginning_of_id(text), *_names(text.strip(_AROUND), scope)]
    )


def ids_and_addresses(text: str) -> list[Recognised]:
    """The ids and addresses in a text. Refused requests have the same columns."""
    return [*_ids(text), *_addresses(text)]


def _ids(text: str) -> list[Recognised]:
    found = []
    for id in ids_in(text):
        conditions = (Q(document_id=id), Q(key_id=id), Q(workspace_id=id))
        if id.hex in text.lower():  # without dashes, as request ids are written
            of_request = Q(request_id=id.hex)
            found.append(Recognised("Request id", id.hex, (of_request, *conditions), request=True))
        elif f"documents/{id}" in text.lower():
            found.append(Recognised("Document id", str(id), conditions[:1]))
        else:
            what = "Id of a document, key or workspace"
            found.append(Recognised(what, str(id), conditions))
    return found


def _addresses(text: str) -> list[Recognised]:
    found = []
    for word in _BETWEEN.split(text)[:100]:
        try:
            address = str(ip_address(word.strip(".")))
        except ValueError:
            continue
        condition = Q(address=address) & ~Q(address="")
        found.append(Recognised("Address", address, (condition,)))
    return found[:MOST_IDS]


def _time(text: str) -> list[Recognised]:
    try:
        found = times.parse(text.strip(_AROUND))
    except ValidationError:
        return []
    condition = Q(created_at__gte=found.first, created_at__lte=found.last)
    return [Recognised(found.unit, f"{found} UTC", (condition,), span=found)]


def _beginning_of_id(text: str) -> list[Recognised]:
    digits = beginning_in(text)
    if not digits:
        return []
    conditions = tuple(conditions_of_ids(digits))
    return [Recognised("Beginning of an id", digits, conditions, request=True)]


def _names(text: str, scope: Scope) -> list[Recognised]:
    email = _EMAIL.search(text)
    kinds: dict[str, Kind] = NAMES
    if email:
        text, kinds = email[0], {kind: NAMES[kind] for kind in ("person", "member")}
    if not text:
        return []
    found = conditions_of_names(text, scope, kinds)
    names = [
        Recognised(f"Beginning of {kinds[kind].label}", text, tuple(conditions), scoped=True)
        for kind, conditions in found.items()
    ]
    return names if email else [*names, _workspaces(text, scope)]


def _workspaces(text: str, scope: Scope) -> Recognised:
    ids: Iterable[UUID]
    if scope.everything:
        ids = [id for id, _ in workspace_directory().beginning_with(text)]
    else:
        start = text.casefold()
        ids = [id for id, name in scope.workspaces.items() if name.casefold().startswith(start)]
    conditions = tuple(Q(workspace_id=id) for id in ids)
    return Recognised("Beginning of a workspace’s name", text, conditions, scoped=True)


def in_words(found: Iterable[Recognised]) -> str:
    """`Document id “92fe0e65-…”; Address “127.0.0.9”`, one value for all that share it."""
    whats: dict[str, list[str]] = {}
    for each in found:
        only = f" (only the first {MOST})" if each.scoped and len(each.conditions) == MOST else ""
        whats.setdefault(each.value, []).append(f"{each.what}{only}")
    return "; ".join(f"{_joined(each)} “{value}”" for value, each in whats.items())


def _joined(whats: list[str]) -> str:
    """`Beginning of a key’s name, of a user’s login`."""
    first, *others = whats
    return ", ".join([first, *(what.removeprefix("Beginning ") for what in others)])
