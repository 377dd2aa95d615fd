"""Recognises what a search of the audit log contains.

People paste what they have: a URL of the API, an id in quotes, a sentence with an id in it, the
eight characters of a request id that the list shows, an address, a day, an e-mail.
"""

import contextlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import chain
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Q, Value
from django.db.models.lookups import Exact
from django.http import HttpRequest, HttpResponseRedirect

from audit.admin import times
from audit.models import NEWEST_FIRST, NO_DOWNLOADS, AuditEntry, folded
from config.request.redaction import PREFIX, public_part

MOST_IDS = 5  # of one text
# Entries by which keys are found from their first characters: each key has that of its creation.
MOST_OF_KEYS = 100
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
        what: "Document id", "Login".
        value: the part of the text that it is.
        conditions: the entries that it finds: each condition is served by one index.
        request: whether it may name a request that is not in the log, since it was refused.
    """

    what: str
    value: str
    conditions: tuple[Q, ...]
    request: bool = False


def redirect_without_key(request: HttpRequest) -> HttpResponseRedirect | None:
    """A redirect that leaves only the prefix of a raw key in the search, if it contains one.

    The browser's history keeps the target of a redirect, not the URL that was redirected.
    """
    key = public_part(request.GET.get("q", ""))
    if not key or request.GET["q"] == key:
        return None
    query = request.GET.copy()
    query["q"] = key
    return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")


def parsed(text: str) -> UUID | None:
    """The id that a text is; None if it is anything else."""
    try:
        return UUID(text)
    except ValueError:
        return None


def ids_in(text: str) -> list[UUID]:
    found = [each[0] for each in chain(_UUID.finditer(text), _DIGITS.finditer(text))]
    return list(dict.fromkeys(map(UUID, found)))[:MOST_IDS]


def beginning_in(text: str) -> str:
    """The eight hexadecimal digits that lists show of an id, in lower case; "" for other texts."""
    word = text.strip(_AROUND)
    return word.lower() if _BEGINNING.fullmatch(word) else ""


def recognise(text: str) -> list[Recognised]:
    """What a text without a raw key may be. If there is an id in it, no login is looked for."""
    if text.startswith(PREFIX):
        made = AuditEntry.objects.filter(NO_DOWNLOADS, key_prefix=text).order_by(*NEWEST_FIRST)
        keys = dict.fromkeys(made.values_list("key_id", flat=True)[:MOST_OF_KEYS])
        conditions = tuple(Q(key_id=id) for id in keys)
        return [Recognised("First characters of a key", text, conditions, request=True)]
    if found := ids_and_addresses(text):
        return found
    with contextlib.suppress(ValidationError):
        span = times.parse(text.strip(_AROUND))
        condition = Q(created_at__gte=span.first, created_at__lte=span.last)
        return [Recognised(span.unit, f"{span} UTC", (condition,))]
    if digits := beginning_in(text):
        condition = Q(request_id__gte=digits, request_id__lt=f"{digits}g")  # g is after digits
        found.append(Recognised("Beginning of a request id", digits, (condition,)))
    # Whole logins, in any case: of who did it, or of the account that it was done to.
    email = _EMAIL.search(text)
    if login := email[0] if email else text.strip(_AROUND):
        conditions = tuple(
            Q(Exact(folded(column), folded(Value(login)))) & ~Q(**{column: ""})  # as in the index
            for column in ("person", "member")
        )
        found.append(Recognised("Login", login, conditions))
    return found


def ids_and_addresses(text: str) -> list[Recognised]:
    found = []
    for id in ids_in(text):
        conditions = (Q(document_id=id), Q(key_id=id), Q(workspace_id=id))
        if id.hex in text.lower():  # without dashes, as request ids are written
            of_request = Q(request_id=id.hex)
            found.append(Recognised("Request id", id.hex, (of_request, *conditions), request=True))
        elif f"documents/{id}" in text.lower():
            found.append(Recognised("Document id", str(id), conditions[:1]))
        else:
            found.append(Recognised("Id of a document, key or workspace", str(id), conditions))
    addresses = []
    for word in _BETWEEN.split(text)[:100]:
        with contextlib.suppress(ValueError):
            address = str(ip_address(word.strip(".")))
            condition = Q(address=address) & ~Q(address="")
            addresses.append(Recognised("Address", address, (condition,)))
    return [*found, *addresses[:MOST_IDS]]


def in_words(found: Iterable[Recognised]) -> str:
    """`Document id “92fe0e65-…”; Address “127.0.0.9”`."""
    return "; ".join(f"{each.what} “{each.value}”" for each in found)
