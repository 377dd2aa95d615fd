"""A thread writes what the process has counted: every few seconds, and when the process ends.

No request waits for this. What could not be written, such as while the database is out of reach,
waits in memory. If the response to a commit is lost, it may be written twice.
"""

import logging
import threading
import time
from collections.abc import Sequence
from copy import copy
from datetime import timedelta
from multiprocessing.util import Finalize
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connection, transaction
from django.db.models import Q

from apikeys.authentication import UNKNOWN
from apikeys.models import ApiKey
from apikeys.usage.middleware import BUFFER, Rows, fold
from apikeys.usage.models import TEXT_LENGTH, KeyUsage, RefusedRequest
from audit.models import Action, AuditEntry
from config.connections import UNAVAILABLE, fetch
from config.request.redaction import redact_sent

logger = logging.getLogger(__name__)

LOCK = 0x7265667573  # an arbitrary number, unique among our advisory locks
TIME = "%Y-%m-%d %H:%M:%S UTC"
_lock = threading.Lock()  # the end of the process waits for what the thread is writing
_batch: Any = ([], [])  # of the buffer; it stays here until it is written


def flush() -> None:
    """Writes a batch: the one that could not be written the last time, or the next."""
    global _batch
    with _lock:
        _batch = _batch if any(_batch) else BUFFER.take()
        if not any(_batch):
            return
        try:
            with transaction.atomic():
                # One process after the other: each sees what the ones before it have written.
                fetch("SELECT FROM pg_advisory_xact_lock(%s)", [LOCK])
                write(*_batch)
        except UNAVAILABLE as exc:
            logger.warning("The usage of keys is not written: %s", exc)
            return
        except Exception:
            logger.exception("The usage of keys is lost")
        _batch = [], []


def write(uses: list[KeyUsage], refused: list[RefusedRequest]) -> None:
    refused = [copy(row) for row in refused]  # the rows themselves may have to be written again
    add_reasons(refused)  # which finds keys that have ended
    for row in refused:
        row.sent_digest = ""  # rows in the database have none
    for use in uses:
        use.user_agent = redact_sent(use.user_agent, TEXT_LENGTH)
    uses = [*(use_of(row) for row in refused if row.key_id), *uses]
    rows = [vars(use) for use in sorted(uses, key=lambda use: use.last_at)]
    with connection.cursor() as cursor:
        cursor.executemany(_ADD_USE, rows)
        cursor.executemany(SET_LAST_USE, rows[::-1])
    if refused:
        write_refused(refused)


def add_reasons(rows: Sequence[RefusedRequest]) -> None:
    """Adds why a key does not work, which the response must not say.

    A query before the response would show in its time.
    """
    of_keys = [row for row in rows if row.key_prefix and row.reason == UNKNOWN]
    prefixes = {row.key_prefix for row in of_keys}
    found = ApiKey.objects.select_related("workspace", "revoked_by", "replaced_by")
    keys = {key.prefix: key for key in found.filter(prefix__in=prefixes)}
    log = AuditEntry.objects.filter(action=Action.KEY_DELETED, key_prefix__in=prefixes)
    deleted = {entry.key_prefix: entry for entry in log}
    for row in of_keys:
        row.reason = _of_key(row, keys.get(row.key_prefix), deleted.get(row.key_prefix))


def _of_key(row: RefusedRequest, key: ApiKey | None, deleted: AuditEntry | None) -> str:
    """A row names a key only if the whole key was sent. A deleted one leaves nothing to compare."""
    if key is None and deleted:
        when = f"was deleted at {deleted.created_at:{TIME}} by {deleted.person}"
        return f"What was sent begins like the key “{deleted.key_name}”, which {when}."
    if key is None:
        return "No key of this service begins with what was sent: nobody was let in."
    if key.digest != row.sent_digest:
        return f"What was sent begins like the key “{key.name}”, but the rest differs."
    vars(row).update(vars(key.snapshot()))
    if key.revoked_at:
        by = f" by {key.revoked_by.get_username()}" if key.revoked_by else ""
        return f"The key was revoked at {key.revoked_at:{TIME}}{by}."
    ended = f"was rolled to {key.replaced_by}, and ended" if key.replaced_by else "expired"
    return f"The key {ended} at {key.expires_at:{TIME}}." if key.expires_at else row.reason


def use_of(row: Any) -> KeyUsage:
    limited = row.requests if row.status == 429 else 0
    return KeyUsage(
        key_id=row.key_id,
        day=row.created_at.date(),
        workspace_id=row.workspace_id,
        errors=row.requests - limited,
        limited=limited,
        last_at=row.last_at,
        address=row.address,
        user_agent=row.user_agent,
    )


_ADD_USE = """
    INSERT INTO "usage_keyusage" AS old
        (key_id, day, workspace_id, ok, hours, errors, limited, downloads, busiest,
            last_at, address, user_agent)
    VALUES (%(key_id)s, %(day)s, %(workspace_id)s, %(ok)s, %(hours)s, %(errors)s, %(limited)s,
        %(downloads)s, %(busiest)s, %(last_at)s, %(address)s, %(user_agent)s)
    ON CONFLICT (key_id, day) DO UPDATE SET
        ok = old.ok + EXCLUDED.ok,
        hours = ARRAY(SELECT a + b FROM unnest(old.hours, EXCLUDED.hours)
            WITH ORDINALITY AS hour (a, b, number) ORDER BY number),
        errors = old.errors + EXCLUDED.errors,
        limited = old.limited + EXCLUDED.limited,
        downloads = old.downloads + EXCLUDED.downloads,
        busiest = greatest(old.busiest, EXCLUDED.busiest),
        last_at = EXCLUDED.last_at,
        address = EXCLUDED.address,
        user_agent = EXCLUDED.user_agent
"""
# A busy key's is not written more often than once a minute.
SET_LAST_USE = """
    UPDATE "apikeys_apikey" SET last_used_at = %(last_at)s
    WHERE id = %(key_id)s AND
        (last_used_at IS NULL OR last_used_at <= %(last_at)s - interval '1 minute')
"""


def write_refused(rows: list[RefusedRequest]) -> None:
    """Adds the rows to those of their minutes."""
    of_keys = Q(key_id__in={row.key_id for row in rows if row.key_id})
    of_networks = Q(key_id=None, address__in={row.address for row in rows})
    since = min(row.created_at for row in rows) - timedelta(minutes=1)
    written = RefusedRequest.objects.filter(of_keys | of_networks, created_at__gte=since)
    folded: Rows = {}
    for row in written.order_by("created_at", "id"):
        fold(row, folded)
    changed = {id(row): row for row in (fold(row, folded) for row in rows)}
    RefusedRequest.objects.bulk_create(
        changed.values(),
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["created_at", "last_at", "requests", "others", "request_ids"],
    )


def _run() -> None:
    while True:
        time.sleep(settings.USAGE_FLUSH_SECONDS)
        close_old_connections()  # this thread has one of its own, which may have failed
        flush()


def start() -> None:
    threading.Thread(target=_run, name="usage", daemon=True).start()
    # At the end of a worker: a child of multiprocessing ends with `os._exit`, which skips atexit.
    for _ in range(2):  # a batch that waits, and the rest
        Finalize(None, flush, exitpriority=1)
