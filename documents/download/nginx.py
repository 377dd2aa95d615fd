"""Downloads that nginx serves: an X-Accel redirect to a short-lived signed URL.

`deploy/nginx.conf` is the other half: it turns `X-Accel-Redirect` into a request to object storage
and adds this response's headers. Neither the client nor a log sees the URL.
"""

from urllib.parse import urlsplit

from django.http import HttpResponse, HttpResponseBase

from documents import storage
from documents.download.ranges import ByteRange

# nginx copies these headers from the redirect, so that a 503 of object storage would have them too.
# They get other names, which deploy/nginx.conf changes back for the file only.
RENAMED = ("Accept-Ranges", "Cache-Control", "Content-Disposition", "Content-Type")
PREFIX = "/_storage/"  # the internal location
URL_SECONDS = 30  # how long the signed URL can be used to start a transfer


def accel_response(key: str, part: ByteRange | None) -> HttpResponse:
    """A response without a body; nginx sends the object or a part of it instead."""
    url = urlsplit(storage.signed_url(key, URL_SECONDS))
    response = HttpResponse()
    response["X-Accel-Redirect"] = f"{PREFIX}{url.netloc}{url.path}?{url.query}"
    if part:
        response["X-Storage-Range"] = part.request
    return response


def rename_headers(response: HttpResponseBase) -> None:
    """Renames the headers of an X-Accel redirect, after all of them are set."""
    for name in RENAMED:
        response[f"X-File-{name}"] = response[name]
        del response[name]
