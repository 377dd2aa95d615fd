"""The log's lines, as text or JSON: each has the request's id, and none has a secret."""

import contextlib
import logging
import re
import sys
import time
from collections.abc import Mapping
from contextvars import ContextVar
from datetime import UTC, datetime
from typing import Any

import msgspec
from django.conf import settings
from django.http import HttpRequest
from django.utils.encoding import escape_uri_path

from config.key_format import cut_raw_keys
from config.request.context import client_address

LENGTH = 150  # characters of what a client chose
MESSAGE_LENGTH = 800  # a line is not longer than about 1 KB, but for a traceback
# What a line as text has, besides the request itself and its response.
SHOWN = ("bytes", "key_prefix", "workspace_id", "client_address", "reason")

# The id of the request that this thread is handling; empty outside of one.
request_id: ContextVar[str] = ContextVar("request_id", default="")

# Of signed URLs and requests to object storage. Each pattern begins with fixed text, otherwise the
# search would take fifty times as long.
_SIGNATURE = re.compile(r"(Signature=)[^&\s\"'\\,]+")
_CREDENTIAL = re.compile(r"(X-Amz-(?:Credential|Security-Token)=)[^&\s\"'\\,]+")
# A person with the token of such a link may set an account's password.
_RESET_TOKEN = re.compile(r"(/reset/[^/\s\"]+/)[^/\s\"]+")
_URL_PASSWORD = re.compile(r"(://[^\s:/@\"]*:)[^\s/@\"]+(?=@)")

# Perhaps a key whose prefix is another, escaped or in pieces. 22 of its characters are not to be
# guessed.
_LONG_RUN = re.compile(r"[\w%+:\x80-\U0010ffff-]{30,}", re.ASCII)
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


def redact(text: str) -> str:
    """`text` with raw API keys cut to their public part, without signatures, tokens, passwords."""
    text = cut_raw_keys(text)
    for secret in (_SIGNATURE, _CREDENTIAL, _RESET_TOKEN, _URL_PASSWORD):
        text = secret.sub(r"\1…", text)
    return text


def redact_sent(text: str) -> str:
    """What a client chose, a path or a user agent: long runs that are no id are cut too."""
    return redact(_cut_long_runs(text))


def _cut_long_runs(text: str) -> str:
    def cut(run: re.Match[str]) -> str:
        return run[0] if _UUID.fullmatch(run[0]) else f"{run[0][:8]}…"

    return _LONG_RUN.sub(cut, cut_raw_keys(text))


def _shown(text: str) -> str:
    """The beginning of what a client chose; what is left out takes no time."""
    return _cut_long_runs(text[: LENGTH + 50])[:LENGTH]


def _cut_lines(message: str) -> str:
    """The message with lines of a bounded length; the server's has a traceback.

    Without secrets first: half a password is not recognised.
    """
    return "\n".join(line[:MESSAGE_LENGTH] for line in redact(message).split("\n"))


class RedactingFormatter(logging.Formatter):
    """Formats a line with its traceback, without secrets: a library may quote one."""

    def format(self, record: logging.LogRecord) -> str:
        record.request_id = request_id.get() or "-"
        return redact(super().format(record))

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - Python's name
        record.message = _cut_lines(record.message)
        return super().formatMessage(record)


class JsonFormatter(logging.Formatter):
    """One JSON object a line: the record, and its traceback."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            **_start(record.levelname, record.name, _cut_lines(record.getMessage())),
            **({"exception": self.formatException(record.exc_info)} if record.exc_info else {}),
        }
        return redact(msgspec.json.encode(line).decode())


def _start(level: str, logger: str, message: str) -> dict[str, object]:
    """What the JSON object of every line begins with."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "level": level,
        "logger": logger,
        "message": message,
        "request_id": request_id.get() or "-",
    }


def log_request(
    request: HttpRequest,
    method: str,
    route: str,
    status: int,
    seconds: float,
    length: int | None,
    notes: Mapping[str, str | None],
) -> None:
    """Writes the access log's line of a request that has a response.

    It is written without Python's loggers, which would take twice as long.

    Args:
        seconds: until the response began.
        length: bytes of its body, None if that is not known.
        notes: what else is known of the request.
    """
    fields = {
        "method": method[:20],
        "route": route,
        "path": _shown(escape_uri_path(request.path)),  # prevents log injection
        "status": status,
        "milliseconds": round(seconds * 1000, 1),
        "bytes": length,
        "key_prefix": None,
        "workspace_id": None,
        "client_address": client_address(request),
        "user_agent": _shown(request.META.get("HTTP_USER_AGENT", "")) or None,
        **notes,
        "reason": _shown(notes.get("reason") or "") or None,  # it may quote a header
    }
    shown = " ".join([f"{name}={'-' if fields[name] is None else fields[name]}" for name in SHOWN])
    line = f"{fields['method']} {fields['path']} {status} {fields['milliseconds']} ms {shown}"
    if settings.LOG_FORMAT == "json":
        line = msgspec.json.encode({**_start("INFO", "access", line), **fields}).decode()
    else:
        line = f"{time.strftime('%Y-%m-%d %H:%M:%S')} INFO access [{request_id.get()}] {line}"
    # As Python's handlers: a full disk, or a journal that went away, fails no request.
    with contextlib.suppress(OSError):
        sys.stderr.write(f"{redact(line)}\n")


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
