"""What each request adds to the buffers: a few microseconds, and no query."""

import time

from django.http import HttpRequest

from apikeys.usage.buffers import Addresses, Counts
from apikeys.usage.refusals import Refusals
from config.api.request import ActiveKey
from config.error_pages import is_api
from config.listeners import Facts

COUNTS, ADDRESSES, REFUSALS = BUFFERS = (Counts(), Addresses(), Refusals())
_DOWNLOADS = (200, 206)


def request_ended(request: HttpRequest, fields: Facts, facts: Facts) -> None:
    """Counts a request of a known key; keeps a refused request for support."""
    key: ActiveKey | None = facts.get("key")
    status: int = fields["status"]
    if key is None and status < 400:
        return
    now = time.time()
    if key is not None:
        # HEAD sends no file. No other route of the API ends like this.
        download = (
            status in _DOWNLOADS
            and fields["method"] == "GET"
            and fields["route"].endswith("/download")
        )
        COUNTS.add(key, status, now, download=download)
        ADDRESSES.add(key.id, fields["client_address"], fields["user_agent"], now)
    if status >= 400 and is_api(request):
        REFUSALS.add(request, fields, facts, now)
