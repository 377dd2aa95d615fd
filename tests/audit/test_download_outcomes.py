"""A download in one sentence, whichever release wrote its entries."""

from datetime import timedelta

import pytest
from django.utils import timezone

from audit.download_outcomes import outcome
from audit.models import AuditEntry


def said(byte_range: str, sent: int | None, detail: str) -> tuple[str, str]:
    started = AuditEntry(byte_range=byte_range, created_at=timezone.now())
    found = outcome(started, AuditEntry(bytes_sent=sent, detail=detail, byte_range=byte_range))
    return found.state, found.text


@pytest.mark.parametrize(
    ("byte_range", "sent", "detail", "state", "text"),
    [
        ("", 50_782, "whole file", "whole", "all 50,782 bytes sent"),
        ("", 50_782, "complete", "whole", "all 50,782 bytes sent"),
        ("", 1, "whole file", "whole", "all 1 byte sent"),
        ("0-50781/50782", 50_782, "all bytes sent", "whole", "all 50,782 bytes sent"),
        ("0-50781/50782", 50_782, "complete", "whole", "all 50,782 bytes sent"),
        (
            "0-99/50782",
            100,
            "part: 100 of 50,782 bytes",
            "part",
            "part: 100 of 50,782 bytes (0.2 %)",
        ),
        ("0-99/50782", 100, "complete", "part", "part: 100 of 50,782 bytes (0.2 %)"),
        ("50781-50781/50782", 1, "", "part", "part: 1 of 50,782 bytes (less than 0.1 %)"),
        ("1-50781/50782", 50_781, "", "part", "part: 50,781 of 50,782 bytes (99 %)"),
        (
            "0-99/50782",
            40,
            "part, broken off at 40 of 100 bytes",
            "broken off",
            "part, broken off at 40 of 100 bytes (40 %)",
        ),
        (
            "",
            12_288,
            "broken off at 12,288 of 50,782 bytes",
            "broken off",
            "broken off at 12,288 of 50,782 bytes (24 %)",
        ),
        (
            "",
            0,
            "broken off at 0 of 50,782 bytes",
            "broken off",
            "broken off at 0 of 50,782 bytes (0.0 %)",
        ),
        # nginx does not know the length of what it broke off.
        ("", 12_288, "broken off at 12,288 bytes", "broken off", "broken off at 12,288 bytes"),
        (
            "0-50781/50782",
            12_288,
            "broken off at 12,288 bytes",
            "broken off",
            "broken off at 12,288 of 50,782 bytes (24 %)",
        ),
        (
            "",
            32_768,
            "damaged: its SHA-256 is not that of the stored file; "
            "broken off at 32,768 of 50,782 bytes",
            "damaged",
            "damaged file, broken off at 32,768 of 50,782 bytes (65 %)",
        ),
        ("", None, "complete", "unknown", "complete"),
        ("x", 5, "", "whole", "all 5 bytes sent"),
        ("", 0, "whole file", "whole", "all 0 bytes sent"),
        ("0-0/0", 0, "", "broken off", "part, broken off at 0 of 1 byte (0.0 %)"),
    ],
)
def test_download_that_ended_says_how_much_of_the_file_was_sent(
    byte_range: str, sent: int | None, detail: str, state: str, text: str
) -> None:
    assert said(byte_range, sent, detail) == (state, text)


def test_download_without_an_end_is_running_for_an_hour() -> None:
    now = timezone.now()
    assert outcome(AuditEntry(created_at=now), None).text == "running"
    part = AuditEntry(created_at=now, byte_range="0-99/50782")
    assert outcome(part, None).text == "running, part: 100 of 50,782 bytes (0.2 %)"
    old = AuditEntry(created_at=now - timedelta(hours=2))
    assert outcome(old, None).text == "no end recorded"
