"""Downloads: how each ended is an entry of its own, written once; and both in one sentence."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

import msgspec
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.safestring import SafeString

from audit.models import DOWNLOADS, Action, AuditEntry
from audit.record import ending
from config.console.formatting import pill

COMPLETIONS_LOCK = 0x656E6473  # an arbitrary number, unique among our advisory locks
# A download that has had no end for so long has probably lost it.
RUNNING = timedelta(hours=1)

_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # as the column has it
_PART = re.compile(r"(\d{1,18})-(\d{1,18})/(\d{1,18})")
_BROKEN_OFF = re.compile(r"broken off at [\d,]+ (?:of ([\d,]+) )?bytes")


@dataclass(frozen=True, kw_only=True)
class Completion:
    """How a download ended.

    Attributes:
        at: when.
        bytes_sent: of the response's body.
        length: bytes of the whole body; None if it is not known.
    """

    at: Annotated[datetime, msgspec.Meta(tz=True)]
    bytes_sent: _Bytes
    length: _Bytes | None


@transaction.atomic
def record_ends(completions: Mapping[str, Completion]) -> tuple[int, int]:
    """Records completions by the downloads' request ids, each once.

    Concurrent calls wait for each other, so that none is recorded twice.

    Returns:
        (newly recorded, already recorded); unknown request ids are in neither.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [COMPLETIONS_LOCK])
    found = AuditEntry.objects.filter(request_id__in=list(completions), action__in=DOWNLOADS)
    ended = {each.request_id for each in found if each.action == Action.DOWNLOAD_ENDED}
    started = [each for each in found if each.action == Action.DOCUMENT_DOWNLOADED]
    new = [
        _end(each, completions[each.request_id]) for each in started if each.request_id not in ended
    ]
    AuditEntry.objects.bulk_create(new)
    return len(new), len(ended)


def _end(started: AuditEntry, completion: Completion) -> AuditEntry:
    sent, length = completion.bytes_sent, completion.length
    size = int(started.byte_range.rpartition("/")[2]) if started.byte_range else length
    part = "" if length == size else "part, "
    if length is None:
        detail = f"{part}broken off at {sent:,} bytes"
    elif sent < length:
        detail = f"{part}broken off at {sent:,} of {length:,} bytes"
    else:
        detail = f"part: {length:,} of {size:,} bytes" if part else "all bytes sent"
    # Another machine's clock may differ a little.
    at = min(max(completion.at, started.created_at), timezone.now())
    facts = {"bytes_sent": sent, "detail": detail, "occurred_at": at}
    return ending(started, action=Action.DOWNLOAD_ENDED, **facts)


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


def outcome(started: AuditEntry, ended: AuditEntry | None) -> SafeString:
    """How a download ended, as a coloured sentence: `part: 100 of 50,782 bytes (0.2 %)`.

    "Sent" is what the server knows: the bytes have left it. Whether the client has received and
    kept them, only the client knows. The texts that were stored have changed over time, so the
    sentence is made of the numbers: the part that was asked for, the bytes that were sent, and, if
    it was broken off, the length in the detail.

    Args:
        started: the entry of its start, or that of its end if no other is known.
    """
    part = _PART.fullmatch(started.byte_range)
    first, last, size = map(int, part.groups()) if part else (0, -1, None)
    asked = last - first + 1 if part and (first, last + 1) != (0, size) else None
    if ended is None:
        running = timezone.now() - started.created_at < RUNNING
        text = "running" if running else "no end recorded"
        return pill("quiet", text if asked is None else f"{text}, part: {_of(asked, size)}")
    sent = ended.bytes_sent
    if sent is None:
        return pill("quiet", ended.detail or "ended")
    broken_off = _BROKEN_OFF.search(ended.detail)
    length = asked or size or (None if broken_off else sent)
    if length is None and broken_off and broken_off[1]:
        length = int(broken_off[1].replace(",", ""))
    at = f"broken off at {_bytes(sent) if length is None else _of(sent, length)}"
    if ended.detail.startswith("damaged"):  # of releases that checked files while sending them
        return pill("bad", f"damaged file, {at}")
    if length is None or sent < length:
        return pill("warn", f"part, {at}" if asked else at)
    if asked is None:
        return pill("ok", f"all {_bytes(sent)} sent")
    return pill("quiet", f"part: {_of(asked, size)}")


def _of(part: int, whole: Any) -> str:
    """`100 of 50,782 bytes (0.2 %)`: one digit after the point below ten, 100 only for all."""
    share = part / whole * 100 if whole else 0.0
    percent = f"{min(share, 99) if part < whole else 100:.0f}"
    if share < 10:
        percent = f"{share:.1f}" if share >= 0.1 or not part else "less than 0.1"
    return f"{part:,} of {_bytes(whole)} ({percent} %)"


def _bytes(number: int) -> str:
    return f"{number:,} byte{'' if number == 1 else 's'}"
