"""The request that this thread is handling, and its client."""

from contextvars import ContextVar
from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest

# None outside of a request: in a command, or while a body streams after the request has ended.
current_request: ContextVar[HttpRequest | None] = ContextVar("current_request", default=None)
# When the response must be ready, on the monotonic clock; None outside of a request.
deadline: ContextVar[float | None] = ContextVar("deadline", default=None)


def client_info() -> tuple[str, str]:
    """The address and the user agent of the current request's client; "" and "" without one."""
    request = current_request.get()
    if request is None:
        return "", ""
    return client_address(request), request.headers.get("User-Agent", "")


def client_address(request: HttpRequest) -> str:
    """The client's address as text; "" if the server does not know it.

    Each trusted proxy appends the address of its client to `X-Forwarded-For`. The client itself
    may have written the entries further left.
    """
    direct: str = request.META.get("REMOTE_ADDR", "")
    hops = request.META.get("HTTP_X_FORWARDED_FOR", "").split(",")
    if not settings.TRUSTED_PROXIES or len(hops) < settings.TRUSTED_PROXIES:
        return direct
    try:
        return str(ip_address(hops[-settings.TRUSTED_PROXIES].strip()))
    except ValueError:
        return direct
