"""Downloads that nginx carries: the answer names a short-lived signed URL for nginx alone.

`deploy/nginx.conf` is the other half: it turns `X-Accel-Redirect` into a request to the store,
passes on this answer's headers, and shows neither to the client nor to a log.
"""

from urllib.parse import urlsplit

from django.http import HttpResponse, HttpResponseBase

from documents import storage
from documents.download.ranges import ByteRange

# nginx keeps these of the answer that leads it to the store. When the store then fails, they would
# stand on the 503: they go under other names, and only the file has them under their own.
KEPT = ("Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Type")
PREFIX = "/_store/"  # the internal location
URL_SECONDS = 30  # how long the signed URL can be used to start a transfer


def accel_response(key: str, part: ByteRange | None) -> HttpResponse:
    """An answer without a body, for nginx to send the object or a part of it instead."""
    url = urlsplit(storage.signed_url(key, URL_SECONDS))
    response = HttpResponse()
    response["X-Accel-Redirect"] = f"{PREFIX}{url.netloc}{url.path}?{url.query}"
    if part:
        response["X-Store-Range"] = part.request
    return response


def rename_kept(response: HttpResponseBase) -> None:
    """Prepares the headers of an answer that nginx carries, once all are set."""
    for name in KEPT:
        response[f"X-File-{name}"] = response[name]
        del response[name]
