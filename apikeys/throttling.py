"""The rate limit: 300 requests a minute for each key, counted exactly, in a shared counter."""

import logging
from typing import TYPE_CHECKING

from django_ratelimit import ALL
from django_ratelimit.core import get_usage
from rest_framework.throttling import BaseThrottle

from config.api.errors import TooManyRequests
from config.api.limits import REQUESTS_PER_MINUTE, WINDOW
from config.api.request import ApiRequest

if TYPE_CHECKING:
    # DRF imports this module while it is still importing its own views.
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)


class KeyThrottle(BaseThrottle):
    """Counts a request on its key; refuses those over the limit with the seconds to wait.

    Every answer to a valid key, the refusal too, says what is left of the limit, so that a client
    can slow down before it is refused.

    The minute is a fixed window that starts at a different second for each key. When the counter
    is out of reach the request passes: reading documents matters more than counting reads.
    """

    def allow_request(self, request: ApiRequest, view: "APIView") -> bool:  # type: ignore[override]
        usage = get_usage(
            request,
            group="api",
            key=lambda group, request: str(request.auth.id),
            rate=f"{REQUESTS_PER_MINUTE}/m",
            method=ALL,
            increment=True,
        )
        if usage is None:
            logger.warning("The rate limit's counter is out of reach; the request passes uncounted")
            return True
        # The window lasts to the end of its last second, where `time_left` is 0; it is -1 when
        # the window ended while the counter was asked.
        seconds = max(1, usage["time_left"] + 1)
        request.response_headers.update(quota_headers(usage["count"], seconds))
        if usage["should_limit"]:
            raise TooManyRequests(REQUESTS_PER_MINUTE, seconds)
        return True


def quota_headers(count: int, seconds: int) -> dict[str, str]:
    """What is left of the limit, for programs: draft-ietf-httpapi-ratelimit-headers, and the
    names that were common before it.

    Args:
        count: requests in this window, this one included.
        seconds: until the window ends.
    """
    left = max(0, REQUESTS_PER_MINUTE - count)
    return {
        "RateLimit-Policy": f'"key";q={REQUESTS_PER_MINUTE};w={WINDOW}',
        "RateLimit": f'"key";r={left};t={seconds}',
        "X-RateLimit-Limit": str(REQUESTS_PER_MINUTE),
        "X-RateLimit-Remaining": str(left),
        "X-RateLimit-Reset": str(seconds),
    }
