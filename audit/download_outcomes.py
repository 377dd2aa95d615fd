"""A download in one sentence, from the entries of its start and of its end.

"Sent" is what the server knows: the bytes have left it. Whether the client has received and kept
them, only the client knows.

The texts that were stored have changed over time, so the sentence is made of the numbers: the part
that was asked for, the bytes that were sent, and, if it was broken off, the length in the detail.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.safestring import SafeString

from audit.models import DOWNLOADS, Action, AuditEntry
from config.console.formatting import pill

# A download that has had no end for so long has probably lost it.
RUNNING = timedelta(hours=1)

_PART = re.compile(r"(\d{1,18})-(\d{1,18})/(\d{1,18})")
_BROKEN_OFF = re.compile(r"broken off at [\d,]+ (?:of ([\d,]+) )?bytes")


@dataclass(frozen=True)
class Outcome:
    """How a download ended.

    Attributes:
        state: "whole", "part", "broken off", "damaged", "running" or "unknown".
        text: a sentence: "part: 100 of 50,782 bytes (0.2 %)".
    """

    state: str
    text: str

    @property
    def pill(self) -> SafeString:
        kinds = {"whole": "ok", "broken off": "warn", "damaged": "bad"}
        return pill(kinds.get(self.state, "quiet"), self.text)


def is_download(entry: AuditEntry) -> bool:
    return entry.action in DOWNLOADS


def ends_of(entries: Sequence[AuditEntry], among: QuerySet[AuditEntry]) -> dict[str, AuditEntry]:
    """The ends of the downloads among the entries, by request id, in one query.

    Args:
        among: the entries that the user may see.
    """
    ids = [entry.request_id for entry in entries if entry.action == Action.DOCUMENT_DOWNLOADED]
    if not any(ids):
        return {}
    found = among.filter(action=Action.DOWNLOAD_ENDED, request_id__in=filter(None, ids))
    return {entry.request_id: entry for entry in found}


def outcome(started: AuditEntry, ended: AuditEntry | None) -> Outcome:
    """How the download of these two entries ended; the end may be the only one that is known."""
    part = _PART.fullmatch(started.byte_range)
    first, last, size = map(int, part.groups()) if part else (0, -1, None)
    asked = last - first + 1 if part and (first, last + 1) != (0, size) else None
    if ended is None:
        return _without_end(started, asked, size)
    sent = ended.bytes_sent
    if sent is None:
        return Outcome("unknown", ended.detail or "ended")
    broken_off = _BROKEN_OFF.search(ended.detail)
    length = asked or size or _number(broken_off) or (None if broken_off else sent)
    if ended.detail.startswith("damaged"):  # of releases that checked files while sending them
        return Outcome("damaged", f"damaged file, {_broken_off(sent, length)}")
    if length is None or sent < length:
        return Outcome("broken off", f"{'part, ' if asked else ''}{_broken_off(sent, length)}")
    if asked is None:
        return Outcome("whole", f"all {_bytes(sent)} sent")
    return Outcome("part", f"part: {_of(asked, size)}")


def _without_end(started: AuditEntry, asked: int | None, size: int | None) -> Outcome:
    part = "" if asked is None else f", part: {_of(asked, size)}"
    if timezone.now() - started.created_at < RUNNING:
        return Outcome("running", f"running{part}")
    return Outcome("unknown", f"no end recorded{part}")


def _number(found: "re.Match[str] | None") -> int | None:
    return int(found[1].replace(",", "")) if found and found[1] else None


def _broken_off(sent: int, length: int | None) -> str:
    return f"broken off at {_bytes(sent) if length is None else _of(sent, length)}"


def _of(part: int, whole: Any) -> str:
    """`100 of 50,782 bytes (0.2 %)`."""
    return f"{part:,} of {_bytes(whole)} ({_percent(part, whole)} %)"


def _percent(part: int, whole: int) -> str:
    """One digit after the point below ten; 100 only for all of it."""
    share = part / whole * 100 if whole else 0.0
    if share < 10:
        return f"{share:.1f}" if share >= 0.1 or not part else "less than 0.1"
    return f"{min(share, 99) if part < whole else 100:.0f}"


def _bytes(number: int) -> str:
    return f"{number:,} byte{'' if number == 1 else 's'}"
