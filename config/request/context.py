"""The request that this thread is handling, its client, and what is to be logged about it."""

import os
import pwd
import sys
import uuid
from collections.abc import Mapping
from contextvars import ContextVar
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import Any

from django.conf import settings
from django.http import HttpRequest

# None outside of a request: in a command, or while a body streams after the request has ended. Its
# attribute `notes` has its `Notes`.
current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


class Notes(dict[str, str | None]):
    """What the access log's line has about a request, besides what its response shows."""

    __slots__ = ("error", "key")

    def __init__(self) -> None:
        self.key: Any = None  # the valid key, which no log gets
        self.error: Any = None  # the API error that is the response


def current_notes() -> Notes:
    """The notes of the current request; outside of a request, new ones."""
    notes: Notes | None = getattr(current_request.get(), "notes", None)
    return Notes() if notes is None else notes  # empty ones are false


def note(**facts: str | None) -> None:
    """Adds facts to the access log's line of the current request: never a secret.

    They are `key_prefix`, `workspace_id`; of a refused request its `reason`, of a 503 the `cause`.
    """
    current_notes().update(facts)


def new_request_id() -> str:
    return uuid.uuid4().hex


def actor() -> str:
    """Who acts: the login of the signed-in user, "" without one.

    Outside of a request, the system's user and the command: "root (manage.py createsuperuser)".
    With sudo also SUDO_USER, which is only a hint: the user who starts the command can set it.
    """
    request = current_request.get()
    if request is None:
        hint = os.environ.get("SUDO_USER", "")[:32]
        return f"{_system_user()} ({_command()}{f', sudo says {hint!a}' if hint else ''})"
    user = getattr(request, "user", None)
    return user.get_username() if user else ""  # the API has no users; "" is the anonymous one's


def _system_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container
        return str(os.getuid())


def _command() -> str:
    """The program's name, and the management command; other arguments may be secrets."""
    program = Path(sys.argv[0]).name
    return " ".join([program, *sys.argv[1:2]]) if program == "manage.py" else program


def base_url(request: HttpRequest) -> str:
    """Where links to this service lead, as https://HOST: not where a client's Host header says."""
    return settings.BASE_URL or f"{request.scheme}://{request.get_host()}"


def client_info() -> tuple[str, str]:
    """The address and the user agent of the current request's client; "" and "" without one."""
    request = current_request.get()
    if request is None:
        return "", ""
    return client_address(request), request.headers.get("User-Agent", "")


def client_address(request: HttpRequest) -> str:
    """The client's address as text; "" if the server does not know it. It is parsed once.

    Each trusted proxy appends the address of its client to `X-Forwarded-For`. The client itself
    may have written the entries further left.
    """
    found: str | None = getattr(request, "client_address", None)
    if found is None:
        found = request.client_address = _address_in(request.META)  # type: ignore[attr-defined]
    return found


def _address_in(headers: Mapping[str, str]) -> str:
    direct = headers.get("REMOTE_ADDR", "")
    trusted = settings.TRUSTED_PROXIES
    hops = [hop for hop in headers.get("HTTP_X_FORWARDED_FOR", "").split(",") if hop.strip()]
    if trusted and len(hops) >= trusted:
        # A proxy that does not know its client may write "unknown": the next one's client is known.
        for hop in hops[-trusted:]:
            if address := _parsed(hop):
                return address
    return _parsed(direct) or direct


def _parsed(hop: str) -> str:
    """The address without port and zone, as IPv4 where it is one; "" if it is none."""
    text = hop.strip().strip('"')
    if text.startswith("["):  # IPv6, as in a URL
        text = text[1:].partition("]")[0]
    elif text.count(":") == 1:
        text = text.partition(":")[0]
    try:
        address = ip_address(text.partition("%")[0])
    except ValueError:
        return ""
    return str(getattr(address, "ipv4_mapped", None) or address)


def network_of(address: str) -> str:
    """What counts as one address: of IPv6 the /64 that a connection has."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed, 64), strict=False))
    return str(parsed)
