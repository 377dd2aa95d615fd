"""JSON as every answer of the API writes it."""

from collections.abc import Mapping
from typing import Any

import msgspec
from django.http import HttpResponse

_encoder = msgspec.json.Encoder()


def as_json(data: Any) -> bytes:
    """`data` as UTF-8 JSON: UUIDs as strings, times as UTC with `Z`.

    Args:
        data: msgspec's structs, dicts, lists and what they hold.
    """
    return _encoder.encode(data)


def json_answer(
    data: Any, status: int = 200, headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """An answer whose body is `data` as JSON."""
    # No charset: JSON is UTF-8 by definition (RFC 8259).
    return HttpResponse(
        as_json(data),
        status=status,
        headers={"Content-Type": "application/json", **(headers or {})},
    )
