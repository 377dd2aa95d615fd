"""A download in one sentence, whichever release wrote its entries."""

from datetime import timedelta

from django.utils import timezone

from audit.download_ends import outcome
from audit.models import AuditEntry
from config.console import formatting

DAMAGED = (
    "damaged: its SHA-256 is not that of the stored file; broken off at 32,768 of 50,782 bytes"
)


# The range, the bytes sent and the detail of a download's entries → its pill and text.
OUTCOMES: list[tuple[str, int | None, str, str, str]] = [
    ("", 50_782, "whole file", "ok", "all 50,782 bytes sent"),
    ("", 1, "whole file", "ok", "all 1 byte sent"),
    ("", 0, "whole file", "ok", "all 0 bytes sent"),
    ("0-50781/50782", 50_782, "all bytes sent", "ok", "all 50,782 bytes sent"),
    ("0-99/50782", 100, "complete", "quiet", "part: 100 of 50,782 bytes (0.2 %)"),
    ("50781-50781/50782", 1, "", "quiet", "part: 1 of 50,782 bytes (less than 0.1 %)"),
    ("1-50781/50782", 50_781, "", "quiet", "part: 50,781 of 50,782 bytes (99 %)"),
    (
        "0-99/50782",
        40,
        "part, broken off at 40 of 100 bytes",
        "warn",
        "part, broken off at 40 of 100 bytes (40 %)",
    ),
    (
        "",
        12_288,
        "broken off at 12,288 of 50,782 bytes",
        "warn",
        "broken off at 12,288 of 50,782 bytes (24 %)",
    ),
    (
        "",
        0,
        "broken off at 0 of 50,782 bytes",
        "warn",
        "broken off at 0 of 50,782 bytes (0.0 %)",
    ),
    # nginx does not know the length of what it broke off.
    ("", 12_288, "broken off at 12,288 bytes", "warn", "broken off at 12,288 bytes"),
    (
        "0-50781/50782",
        12_288,
        "broken off at 12,288 bytes",
        "warn",
        "broken off at 12,288 of 50,782 bytes (24 %)",
    ),
    ("", 32_768, DAMAGED, "bad", "damaged file, broken off at 32,768 of 50,782 bytes (65 %)"),
    ("", None, "complete", "quiet", "complete"),
    ("x", 5, "", "ok", "all 5 bytes sent"),
    ("0-0/0", 0, "", "warn", "part, broken off at 0 of 1 byte (0.0 %)"),
]


def test_download_that_ended_says_how_much_of_the_file_was_sent() -> None:
    for byte_range, sent, detail, pill, text in OUTCOMES:
        started = AuditEntry(byte_range=byte_range, created_at=timezone.now())
        ended = AuditEntry(bytes_sent=sent, detail=detail, byte_range=byte_range)
        assert outcome(started, ended) == formatting.pill(pill, text)


def test_download_without_an_end_is_running_for_an_hour() -> None:
    now = timezone.now()
    for hours, part, text in (
        (0, "", "running"),
        (0, "0-99/50782", "running, part: 100 of 50,782 bytes (0.2 %)"),
        (2, "", "no end recorded"),
    ):
        started = AuditEntry(created_at=now - timedelta(hours=hours), byte_range=part)
        assert outcome(started, None) == formatting.pill("quiet", text)
