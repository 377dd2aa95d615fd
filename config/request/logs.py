"""The log's lines, as text or JSON: each has the request's id, and none has a secret."""

import logging
from datetime import UTC, datetime

import msgspec

from config.request.context import request_id
from config.request.redaction import redact

MESSAGE_LENGTH = 800  # a line is not longer than about 1 KB, but for a traceback


def _one_line(message: str) -> str:
    """Secrets are cut first: half a password is not recognised."""
    return " ".join(redact(message).split())[:MESSAGE_LENGTH]


class RedactingFormatter(logging.Formatter):
    """Formats a line with its traceback, without secrets: a library may quote one."""

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = request_id() or "-"
        return redact(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - Python's name
        record.message = _one_line(record.message)
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line = {
            **line_start(record.levelname, record.name, _one_line(record.getMessage())),
            **({"exception": self.formatException(record.exc_info)} if record.exc_info else {}),
        }
        return redact(msgspec.json.encode(line).decode())


def line_start(level: str, logger: str, message: str) -> dict[str, object]:
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "logger": logger,
        "message": message,
        "request_id": request_id() or "-",
    }
