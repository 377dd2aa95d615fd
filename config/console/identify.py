"""The box in the header: whatever is typed leads to one page; `SectionAdmin.find` says where."""

import re
from collections.abc import Iterator
from contextlib import suppress
from enum import StrEnum
from ipaddress import ip_address
from typing import Any

from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

from config.console.links import DELIVERIES, DOCUMENTS, LOG, REFUSED, filtered
from config.request.context import network_of
from config.request.redaction import cut_raw_keys


class Kind(StrEnum):
    """What a text may be."""

    KEY = "the first characters of a key"
    EVENT = "an event's id, without evt_"
    ID = "an id"
    REQUEST_ID = "an id without dashes, of a request if of nothing else"
    RECIPIENT = "an e-mail address, of a recipient"
    EMAIL = "an e-mail address, of a user if of no recipient"
    ADDRESS = "an IP address"
    HOST = "a host's name"
    TEXT = "a name or a title"


# These may have words around them.
_IN_TEXT = {
    Kind.KEY: re.compile(r"\b(dtd_[A-Za-z0-9]{8})"),
    Kind.EVENT: re.compile(r"\bevt_([0-9a-f]{32})\b"),
    Kind.ID: re.compile(r"\b([0-9a-f]{8}(?:-?[0-9a-f]{4}){3}-?[0-9a-f]{12})\b", re.IGNORECASE),
    Kind.REQUEST_ID: re.compile(r"\b([0-9a-f]{32})\b"),
}
_HOST = re.compile(r"(?:https?://)?((?:[\w-]+\.)+[\w-]+)(?:[:/?#]\S*)?", re.IGNORECASE)
# Where a text leads that no section has found: to a list, which says so.
_LISTS = {
    Kind.KEY: (LOG, "key_prefix__exact"),
    Kind.EVENT: (DELIVERIES, "event_id__exact"),
    Kind.REQUEST_ID: (REFUSED, "request_id__exact"),
    Kind.ADDRESS: (LOG, "address__exact"),
    Kind.TEXT: (DOCUMENTS, "q"),
}


def page(site: Any, request: HttpRequest) -> HttpResponseRedirect:
    """The form is posted, so that a key that is pasted never is in a URL."""
    text = cut_raw_keys(request.POST.get("q", "").replace("\0", "").strip())[:500]
    if not text:
        return HttpResponseRedirect(reverse("admin:index"))
    found, sections = list(meanings(text)), site.sections(request)
    sections.sort(key=lambda section: (section.is_log, -section.menu_position))
    for _ in site.in_turn(request):
        for kind, value in found:
            for section in sections:
                if url := section.find(request, kind, value):
                    return HttpResponseRedirect(url)
    kind, value = next((kind, value) for kind, value in found if kind in _LISTS)
    name, field = _LISTS[kind]
    return HttpResponseRedirect(filtered(name, **{field: value}))


def meanings(text: str) -> Iterator[tuple[Kind, str]]:
    """What the text may be, the most certain first."""
    for kind, pattern in _IN_TEXT.items():
        for match in pattern.finditer(text):
            yield kind, match[1]
    if re.fullmatch(r"[^\s@]+@[^\s@]+", text):
        yield Kind.RECIPIENT, text
        yield Kind.EMAIL, text
    with suppress(ValueError):
        yield Kind.ADDRESS, str(ip_address(text))
        yield Kind.ADDRESS, network_of(text)  # a refused request without a key has no more of it
    if host := _HOST.fullmatch(text):
        yield Kind.HOST, host[1]
        text = host[1]  # what follows the host may be a secret
    yield Kind.TEXT, text
