"""Who sent the request that this thread is answering."""

from contextvars import ContextVar
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest

# None outside of a request: in a command, or in a body that is sent when the request is over.
current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)


def client_info() -> tuple[str, str]:
    """The current request's address and user agent; "" and "" outside of one."""
    request = current_request.get()
    if request is None:
        return "", ""
    return client_address(request), request.headers.get("User-Agent", "")


def client_address(request: HttpRequest) -> str:
    """The address the request came from, as text; "" when the server does not know it.

    Each trusted proxy appends the address it was called from to `X-Forwarded-For`; what stands
    further left was written by the client and proves nothing.
    """
    direct: str = request.META.get("REMOTE_ADDR", "")
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if not settings.TRUSTED_PROXIES or len(hops) < settings.TRUSTED_PROXIES:
        return direct
    try:
        return str(ip_address(hops[-settings.TRUSTED_PROXIES].strip()))
    except ValueError:
        return direct
