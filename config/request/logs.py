"""The log's lines, as text or JSON: each has the request's id, and none has a secret."""

import logging
from datetime import UTC, datetime
from typing import Any

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


def configuration(format: str) -> dict[str, Any]:
    """The value of `settings.LOGGING`; the format is "text" or "json"."""
    text = "{asctime} {levelname} {name} [{request_id}] {message}"
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "text": {"()": "config.request.logs.RedactingFormatter", "format": text, "style": "{"},
            "json": {"()": "config.request.logs.JsonFormatter"},
        },
        "filters": {
            "has_traceback": {
                "()": "django.utils.log.CallbackFilter",
                "callback": lambda record: bool(record.exc_info),
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": format}},
        "root": {"handlers": ["stderr"], "level": "INFO"},
        "loggers": {
            # Without Django's own handlers, which send mail and print.
            "django": {"handlers": [], "level": "INFO", "propagate": True},
            "_granian": {"handlers": [], "level": "INFO", "propagate": True},
            # Only crashes, with their traceback; the access log has every status.
            "django.request": {"level": "ERROR", "filters": ["has_traceback"]},
            # An unknown Host header is a 400 in the access log, without a traceback.
            "django.security.DisallowedHost": {"level": "CRITICAL"},
        },
    }
