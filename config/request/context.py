"""The request that this thread is handling, what is known about it, and who acts."""

import os
import pwd
import sys
import time
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime
from ipaddress import IPv6Address, ip_address, ip_network
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from django.conf import settings
from django.http import HttpRequest

from config.api.active_key import ActiveKey

if TYPE_CHECKING:
    from config.api.errors import ApiError

# None outside of a request: in a command, or while a body streams after the request has ended.
current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


@dataclass
class Notes:
    """What is known about a request besides what it sent: `request.notes`, for the access log.

    Attributes:
        client_address: as text; "" if the server does not know it.
        user_agent: as the client sent it.
        headers: what is added to the headers of its response.
        key_prefix: the public part of what it sent as a key, also of one that is not valid.
        key_digest: the SHA-256 of it.
        minute_count: the requests of its key in this minute, itself included.
        user: the id of the signed-in user.
        seconds: until its response began.
    """

    request_id: str
    client_address: str
    user_agent: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    key: ActiveKey | None = None
    key_prefix: str | None = None
    key_digest: str = ""
    minute_count: int = 0
    user: str | None = None
    error: "ApiError | None" = None
    route: str = ""
    seconds: float = 0.0

    @property
    def reason(self) -> str:
        """Why the request was refused, for the log; "" if it was not."""
        if self.error is None:
            return ""
        reason = self.error.reason or str(self.error.detail)
        return reason.partition("\n")[0]  # PostgreSQL sends several lines


def new_request_id() -> str:
    """16 bytes in hex: the first six are milliseconds since 1970, the others are random."""
    return f"{time.time_ns() // 1_000_000:012x}{os.urandom(10).hex()}"


def began_at(request_id: UUID) -> datetime:
    """When the request with this id began; some time for an id that is not one of ours."""
    seconds = (request_id.int >> 80) / 1000
    return datetime.fromtimestamp(min(seconds, 10**11), UTC)  # Python's years end


def request_id() -> str:
    request = current_request.get()
    return request.notes.request_id if request else ""  # type: ignore[attr-defined]


def client_info() -> tuple[str, str]:
    """The address and the user agent of the current request's client; "" and "" without one."""
    request = current_request.get()
    if request is None:
        return "", ""
    notes: Notes = request.notes  # type: ignore[attr-defined]
    return notes.client_address, notes.user_agent


def actor() -> str:
    """Who acts: the login of the signed-in user, "" without one.

    Outside of a request, the system's user and the command: "root, by command createsuperuser".
    With sudo also SUDO_USER, which is only a hint: the user who starts the command can set it.
    """
    request = current_request.get()
    if request is None:
        hint = os.environ.get("SUDO_USER", "")[:32]
        return f"{_system_user()}, by {_command()}{f', sudo says {hint!a}' if hint else ''}"
    user = getattr(request, "user", None)
    return user.get_username() if user else ""  # the API has no users; "" is the anonymous one's


def _system_user() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in a container
        return str(os.getuid())


def _command() -> str:
    """The management command, without its arguments, which may be secrets."""
    is_command = Path(sys.argv[0]).name == "manage.py"
    return " ".join(["command", *sys.argv[1:2]]) if is_command else "command"


def base_url(request: HttpRequest) -> str:
    """Where links to this service lead, as https://HOST: not where a client's Host header says."""
    return settings.BASE_URL or f"{request.scheme}://{request.get_host()}"


def network_of(address: str) -> str:
    """What counts as one address: of IPv6 the /64 that a connection has."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        return str(ip_network((parsed.packed, 64), strict=False))
    return str(parsed)
