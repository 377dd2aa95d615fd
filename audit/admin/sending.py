"""An export on its way to a browser."""

import time
from collections.abc import Iterator

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

EXPORT_SECONDS = 900.0  # that an export may take; then it is broken off


def send(parts: Iterator[str], *, name: str, content_type: str) -> StreamingHttpResponse:
    """The file as a download; the audit entry of the export has been committed.

    Args:
        name: of the file.
    """
    return StreamingHttpResponse(
        _in_time(parts),
        content_type=content_type,
        headers={"Content-Disposition": content_disposition_header(True, name)},
    )


def _in_time(parts: Iterator[str]) -> Iterator[str]:
    last = time.monotonic() + EXPORT_SECONDS
    for part in parts:
        if time.monotonic() > last:
            raise TimeoutError("the export takes too long")
        yield part
