"""Downloads that nginx carries: the answer names a short-lived signed URL for nginx alone.

`deploy/nginx.conf` is the other half: it turns `X-Accel-Redirect` into a request to the store,
passes on this answer's headers, and shows neither to the client nor to a log.
"""

from urllib.parse import urlsplit

from django.http import HttpResponse

from documents import storage
from documents.ranges import ByteRange

PREFIX = "/_store/"  # the internal location
URL_SECONDS = 30  # how long the signed URL can be used to start a transfer


def answer(key: str, part: ByteRange | None) -> HttpResponse:
    """An answer without a body, for nginx to send the object or a part of it instead."""
    url = urlsplit(storage.signed_url(key, URL_SECONDS))
    response = HttpResponse()
    response["X-Accel-Redirect"] = f"{PREFIX}{url.netloc}{url.path}?{url.query}"
    if part:
        response["X-Store-Range"] = part.request
    return response
