"""The rate limit: 300 requests a minute for each key, counted exactly, in a shared counter."""

import logging
from typing import TYPE_CHECKING, Any, NoReturn

from django_ratelimit import ALL
from django_ratelimit.core import get_usage
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from config.errors import TooManyRequests

if TYPE_CHECKING:
    # DRF imports this module while it is still importing its own views.
    from rest_framework.views import APIView

logger = logging.getLogger(__name__)

REQUESTS_PER_MINUTE = 300


class KeyThrottle(BaseThrottle):
    """Counts a request on its key; refuses those over the limit with the seconds to wait.

    The minute is a fixed window that starts at a different second for each key. When the counter
    is out of reach the request passes: reading documents matters more than counting reads.
    """

    def allow_request(self, request: Request, view: "APIView") -> bool:
        key: Any = request.auth
        usage = get_usage(
            request,
            group="api",
            key=lambda group, request: str(key.id),
            rate=f"{REQUESTS_PER_MINUTE}/m",
            method=ALL,
            increment=True,
        )
        if usage is None:
            logger.warning("The rate limit's counter is out of reach; the request passes uncounted")
        elif usage["should_limit"]:
            self.refuse(usage["time_left"])
        return True

    def refuse(self, time_left: int) -> NoReturn:
        """Raises the 429.

        The window lasts to the end of its last second, where `time_left` is 0; it is -1 when
        the window ended while the counter was asked.
        """
        raise TooManyRequests(REQUESTS_PER_MINUTE, seconds=max(1, time_left + 1))
