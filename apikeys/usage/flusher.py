"""A thread writes what the process has counted: every few seconds, and when the process ends.

A batch that cannot be written is tried again. If the database had committed it, and only the
response was lost, it counts twice. No request waits for this.
"""

import logging
import threading
import time
from copy import copy
from datetime import timedelta
from multiprocessing.util import Finalize

import msgspec
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from apikeys.usage.folding import Rows, fold
from apikeys.usage.middleware import BUFFER, Batch, Use
from apikeys.usage.models import ADDRESSES_KEPT, TEXT_LENGTH, RefusedRequest, clean
from apikeys.usage.reasons import add_reasons
from config.connections import UNAVAILABLE, fetch

logger = logging.getLogger(__name__)

LOCK = 0x7265667573  # an arbitrary number, unique among our advisory locks
LAST_USE_EVERY = "1 minute"  # a busy key's `last_used_at` is not written more often

_lock = threading.Lock()
_failed: list[Batch] = []  # at most one, which could not be written


def flush() -> bool:
    """Writes the batch that could not be written, or else a new one. False if that fails."""
    with _lock:
        batch = _failed.pop() if _failed else BUFFER.take()
        if batch == Batch():
            return True
        try:
            with transaction.atomic():
                write(batch)
        except UNAVAILABLE as exc:  # or a lock on a table
            logger.warning("The usage of keys is written later: %s", exc)
            _failed.append(batch)
            return False
        except Exception:  # it would fail each time
            logger.exception("The usage of keys is lost")
        return True


def write(batch: Batch) -> None:
    # Copies: the batch may have to be tried again.
    refused = [copy(row) for alike in batch.refused.values() for row in alike.values()]
    add_reasons(refused)
    of_ended_keys = [
        Use(
            key_id=row.key_id,
            day=row.created_at.date(),
            address=row.address,
            workspace_id=row.workspace_id,
            at=row.last_at,
            client=row.user_agent,
            errors=row.requests + row.others,
        )
        for row in refused
        if row.status == 401 and row.key_id and row.workspace_id
    ]
    if uses := [*batch.uses.values(), *of_ended_keys]:
        write_uses(uses)
    if refused:
        write_refused(refused)  # the last, since others wait for its lock


def write_refused(rows: list[RefusedRequest]) -> None:
    """Adds the rows to those of their minutes, which another process may have written."""
    # One process after the other: each sees the rows that the ones before it have written.
    fetch("SELECT FROM pg_advisory_xact_lock(%s)", [LOCK])
    of_keys = Q(key_id__in={row.key_id for row in rows if row.key_id})
    of_networks = Q(key_id=None, address__in={row.address for row in rows})
    written = RefusedRequest.objects.filter(
        of_keys | of_networks,
        created_at__gte=min(row.minute for row in rows),
        created_at__lt=max(row.minute for row in rows) + timedelta(minutes=1),
    )
    folded: Rows = {}
    for row in written.order_by("created_at", "id"):
        fold(row, folded)
    changed = {id(row): row for row in (fold(row, folded) for row in rows) if row}
    RefusedRequest.objects.bulk_create(
        changed.values(),
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["created_at", "last_at", "requests", "others", "request_ids"],
    )


def write_uses(uses: list[Use]) -> None:
    for use in uses:
        use.client = clean(use.client, TEXT_LENGTH)
    rows = msgspec.json.encode(uses).decode()
    keys = list({use.key_id for use in uses})
    with connection.cursor() as cursor:
        cursor.execute(_ADD_USES, [rows, LAST_USE_EVERY])
        cursor.execute(_FORGET_OLDEST, [keys, ADDRESSES_KEPT])


# Rows are sorted, so that two processes lock them in the same order.
_ADD_USES = """
    WITH used AS (
        SELECT * FROM jsonb_to_recordset(%s::jsonb) AS use (key_id uuid, day date, address text,
            workspace_id uuid, at timestamptz, client text, ok bigint, errors bigint,
            limited bigint, downloads bigint)
    ), counts AS (
        INSERT INTO "usage_keyusage" AS old
            (key_id, day, workspace_id, ok, errors, limited, downloads)
        SELECT key_id, day, workspace_id, sum(ok), sum(errors), sum(limited), sum(downloads)
        FROM used GROUP BY key_id, day, workspace_id ORDER BY key_id, day
        ON CONFLICT (key_id, day) DO UPDATE SET
            ok = old.ok + EXCLUDED.ok,
            errors = old.errors + EXCLUDED.errors,
            limited = old.limited + EXCLUDED.limited,
            downloads = old.downloads + EXCLUDED.downloads
    ), addresses AS (
        INSERT INTO "usage_keyaddress" AS old (key_id, address, user_agent, last_seen, requests)
        SELECT key_id, address, (array_agg(client ORDER BY at DESC))[1], max(at),
            sum(ok + errors + limited)
        FROM used WHERE address <> '' GROUP BY key_id, address ORDER BY key_id, address
        ON CONFLICT (key_id, address) DO UPDATE SET
            user_agent = EXCLUDED.user_agent,
            last_seen = greatest(old.last_seen, EXCLUDED.last_seen),
            requests = old.requests + EXCLUDED.requests
    ), last AS (
        SELECT key.id, used.at FROM "apikeys_apikey" AS key
        JOIN (SELECT key_id, max(at) AS at FROM used GROUP BY key_id) AS used ON key.id = key_id
        WHERE last_used_at IS NULL OR last_used_at <= used.at - %s::interval
        ORDER BY key.id FOR NO KEY UPDATE OF key
    )
    UPDATE "apikeys_apikey" AS key SET last_used_at = last.at FROM last WHERE key.id = last.id
"""
# Skips addresses that another process is writing: they were seen just now.
_FORGET_OLDEST = """
    DELETE FROM "usage_keyaddress" WHERE (key_id, address) IN (
        SELECT key_id, address FROM "usage_keyaddress" WHERE (key_id, address) IN (
            SELECT key_id, address FROM (
                SELECT *, row_number() OVER (PARTITION BY key_id ORDER BY last_seen DESC, address)
                FROM "usage_keyaddress" WHERE key_id = ANY(%s)
            ) AS numbered
            WHERE row_number > %s
        ) FOR UPDATE SKIP LOCKED
    )
"""


def _run() -> None:
    while True:
        time.sleep(settings.USAGE_FLUSH_SECONDS)
        if not flush():
            connection.close()  # this thread has one of its own


def start() -> None:
    threading.Thread(target=_run, name="usage", daemon=True).start()
    # At the end of a worker: a child of multiprocessing ends with `os._exit`, which skips atexit.
    Finalize(None, flush, exitpriority=1)
