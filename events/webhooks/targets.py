"""Where deliveries may go: which URLs an endpoint may have, and which addresses are connected to.

With WEBHOOK_TARGETS=public, a workspace's admin must not be able to reach what only this machine
can reach. The URL cannot decide that, since its host name may lead to any address at any time: each
attempt resolves the name once, checks every address, and connects to one of those.
"""

import re
import socket
from functools import partial
from ipaddress import IPv4Address, IPv6Network, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

import httpcore
from anyio import CapacityLimiter, to_thread
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator

MAX_LENGTH = 500  # characters of a URL
_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")  # the last 32 bits are an IPv4 address
# Python counts some of these as public: clouds' services for their own machines (Azure, Oracle),
# examples in texts (RFC 9637), and tunnels to an IPv4 address (Teredo, 6to4 and its relays).
_RESERVED = [
    *map(ip_network, ("168.63.129.16/32", "192.0.0.0/24", "3fff::/20")),
    *map(ip_network, ("2001::/32", "2002::/16", "192.88.99.0/24")),
]
# With WEBHOOK_TARGETS=any, also a machine's name without a domain or with an underscore.
_LABEL = "[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?"
_ANY_HOST = re.compile(
    rf"^https?://(\S+@)?({_LABEL}(\.{_LABEL})*\.?|{URLValidator.ipv6_re})(:[0-9]+)?([/?#]\S*)?\Z",
    re.IGNORECASE,
)
CONNECT_SECONDS = 5.0  # for one address of several
_RESOLVERS = CapacityLimiter(1000)  # more threads than attempts of a process


def check_url(url: str) -> None:
    """Raises a ValidationError that says what to change."""
    if len(url) > MAX_LENGTH:
        raise ValidationError(f"Use {MAX_LENGTH} characters at most.")
    if not (url.isascii() and url.isprintable()):
        raise ValidationError(
            "Use ASCII characters only: encode others as %XX, or xn-- in a host name."
        )
    public_only = settings.WEBHOOK_TARGETS == "public"
    schemes = ["https"] if public_only else ["https", "http"]
    try:
        URLValidator(schemes, message="", regex=None if public_only else _ANY_HOST)(url)
        parts = urlsplit(url)
        valid = parts.port != 0
    except (ValidationError, ValueError):
        valid = False
    if not valid:
        begin = " or ".join(f"{each}://" for each in schemes)
        raise ValidationError(
            f"Begin the URL with {begin} and a whole host name, such as "
            "hooks.example.com. It may have a port from 1 to 65535, and no spaces."
        )
    if "@" in parts.netloc:
        raise ValidationError(
            "Leave out the user name and password: deliveries are signed instead."
        )
    if "#" in url:
        raise ValidationError("Leave out the part from # on: no server receives it.")
    host = parts.hostname or ""
    is_address = ":" in host or host.rpartition(".")[2].isdigit()
    is_local = host == "localhost" and public_only
    if is_local or (is_address and not is_allowed(host)):
        raise ValidationError(
            "Use a public address: this one is reachable from some networks only."
        )


def is_allowed(address: str) -> bool:
    return settings.WEBHOOK_TARGETS == "any" or is_public(address)


def is_public(address: str) -> bool:
    found = ip_address(address)
    if found.version == 6 and found in _NAT64:
        found = IPv4Address(int(found) & 0xFFFFFFFF)
    if found.version == 6 and found not in _UNICAST:
        return False  # such as ::ffff:127.0.0.1, which is IPv4 in disguise
    if any(found in network for network in _RESERVED):
        return False
    return found.is_global and not found.is_multicast


class AttemptFailed(Exception):
    """There is no response. The text is for the workspace's admins."""


class CheckedNetwork(httpcore.AnyIOBackend):
    """Connects only if all addresses of the host are allowed. TLS still checks the host's name."""

    _stream: httpcore.AsyncNetworkStream | None = None

    async def connect_tcp(
        self, host: str, port: int, *args: Any, **options: Any
    ) -> httpcore.AsyncNetworkStream:
        addresses = await _resolve(host, port)
        if not all(map(is_allowed, addresses)):
            raise AttemptFailed("The host's name leads to an address that is not public.")
        while self._stream is None:
            try:
                self._stream = await super().connect_tcp(
                    addresses.pop(0), port, timeout=CONNECT_SECONDS
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                if not addresses:
                    raise
        return self._stream

    async def close(self) -> None:
        if self._stream is not None:
            await self._stream.aclose()


async def _resolve(host: str, port: int) -> list[str]:
    """The addresses of a host, the best one first.

    Nothing can stop a resolver that waits: an attempt that ends leaves its thread behind.
    """
    look_up = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
    try:
        found = await to_thread.run_sync(look_up, abandon_on_cancel=True, limiter=_RESOLVERS)
    except (OSError, UnicodeError):  # UnicodeError: of a label that is too long
        found = []
    if not found:
        raise AttemptFailed("The host name could not be resolved.")
    return list(dict.fromkeys(str(info[4][0]) for info in found))
