"""The rate limit: 300 requests a minute for each key, counted exactly by django-ratelimit.

A key's windows are fixed minutes, which begin at a second of their own for each key. Not DRF's
SimpleRateThrottle: it reads and writes a list, which is not atomic (docs/decisions/0005).
"""

from typing import Any

from django_ratelimit.core import get_usage
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from config.api.errors import TooManyRequests
from config.request.context import Notes

REQUESTS_PER_MINUTE = 300  # for each key
WINDOW = 60  # seconds


class KeyThrottle(BaseThrottle):
    """Counts each request under its key and refuses those over the limit.

    Every response to a valid key, the refusal too, says what is left of the limit, so that a
    client can slow down before it is refused.
    """

    def allow_request(self, request: Request, view: Any) -> bool:
        usage = get_usage(
            request,
            group="api",
            key=lambda group, request: str(request.auth.id),
            rate=(REQUESTS_PER_MINUTE, WINDOW),
            increment=True,
        )
        # `time_left` is 0 in the window's last second, and -1 just after it.
        count, seconds = usage["count"], max(1, usage["time_left"] + 1)
        left = max(0, REQUESTS_PER_MINUTE - count)
        notes: Notes = request.notes  # type: ignore[attr-defined]
        notes.minute_count = count
        # The first two are draft-ietf-httpapi-ratelimit-headers; others were common before it.
        notes.headers |= {
            "RateLimit-Policy": f'"key";q={REQUESTS_PER_MINUTE};w={WINDOW}',
            "RateLimit": f'"key";r={left};t={seconds}',
            "X-RateLimit-Limit": str(REQUESTS_PER_MINUTE),
            "X-RateLimit-Remaining": str(left),
            "X-RateLimit-Reset": str(seconds),
        }
        if usage["should_limit"]:
            raise TooManyRequests(REQUESTS_PER_MINUTE, seconds)
        return True
