"""The log's lines: each has the request's id, and none has a raw API key."""

import logging
import re
from contextvars import ContextVar

from config.key_format import PREFIX, PUBLIC_LENGTH

# The id of the request that this thread is handling; empty outside of one.
request_id: ContextVar[str] = ContextVar("request_id", default="")

_RAW_KEY = re.compile(rf"({PREFIX}[A-Za-z0-9]{{{PUBLIC_LENGTH - len(PREFIX)}}})[A-Za-z0-9]+")


def redact(text: str) -> str:
    """`text` with every raw API key cut to its public part."""
    return _RAW_KEY.sub(r"\1…", text)


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get() or "-"
        return True


class RedactingFormatter(logging.Formatter):
    """Formats a line with its traceback, and redacts raw keys.

    A library may quote a path or a header with a key in an exception. Every line passes through
    the formatter.
    """

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
