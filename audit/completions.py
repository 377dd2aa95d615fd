"""How downloads ended: each completion is an entry of its own, written once."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated

import msgspec
from django.db import connection, transaction
from django.utils import timezone

from audit.models import DOWNLOADS, Action, AuditEntry
from audit.record import ending

COMPLETIONS_LOCK = 0x656E6473  # an arbitrary number, unique among our advisory locks
_Bytes = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]  # as the column has it


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


def completion_text(*, bytes_sent: int, length: int | None, size: int | None) -> str:
    """How a download ended, in words.

    Args:
        length: bytes of the response's whole body; None if it is not known.
        size: bytes of the whole file; None if it is not known.
    """
    if length is None:
        text = f"broken off at {bytes_sent:,} bytes"
    elif bytes_sent < length:
        text = f"broken off at {bytes_sent:,} of {length:,} bytes"
    elif size is None or length == size:
        text = "all bytes sent"
    else:
        return f"part: {length:,} of {size:,} bytes"
    return text if length == size else f"part, {text}"


def _completion(started: AuditEntry, completion: Completion, now: datetime) -> AuditEntry:
    size = int(started.byte_range.rpartition("/")[2]) if started.byte_range else completion.length
    text = completion_text(bytes_sent=completion.bytes_sent, length=completion.length, size=size)
    # Another machine's clock may differ a little.
    at = min(max(completion.at, started.created_at), now)
    facts = {"bytes_sent": completion.bytes_sent, "detail": text, "occurred_at": at}
    return ending(started, action=Action.DOWNLOAD_ENDED, **facts)


@transaction.atomic
def downloads_ended(completions: Mapping[str, Completion]) -> tuple[int, int]:
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
    now = timezone.now()
    new = [
        _completion(each, completions[each.request_id], now)
        for each in started
        if each.request_id not in ended
    ]
    AuditEntry.objects.bulk_create(new)
    return len(new), len(ended)
