"""What reaches the log: the request's id on every line, and never a raw API key."""

import logging
import re
from contextvars import ContextVar

# The id of the request this thread is answering; empty outside of one.
request_id: ContextVar[str] = ContextVar("request_id", default="")

# Keeps the public first characters (the prefix that the key list shows) and drops the rest.
_RAW_KEY = re.compile(r"(dtd_[A-Za-z0-9]{8})[A-Za-z0-9]+")


def redact(text: str) -> str:
    """`text` with every raw API key cut down to its public prefix."""
    return _RAW_KEY.sub(r"\1…", text)


class RequestIdFilter(logging.Filter):
    """Adds `request_id` to each record."""

    def filter(self, record: logging.LogRecord) -> bool:
        record.request_id = request_id.get() or "-"
        return True


class RedactingFormatter(logging.Formatter):
    """Formats a line, its traceback included, and takes raw keys out of it.

    A key can stand in a path or a header that some library quotes in an exception; the
    formatter is the one place that every such line passes.
    """

    def format(self, record: logging.LogRecord) -> str:
        return redact(super().format(record))
