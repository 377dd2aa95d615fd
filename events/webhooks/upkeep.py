"""What a delivering process does besides: switching endpoints off, deleting and folding rows."""

import logging
import os
import socket
from collections.abc import Callable, Sequence
from uuid import UUID

from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils import timezone

from events import purge as events
from events.webhooks import life, queue, secrets
from events.webhooks.models import KEEP, Endpoint, Process
from events.webhooks.queue import FAILING_DAYS, Result
from workspaces import counts

logger = logging.getLogger(__name__)

BATCH = 1000  # deliveries that are deleted at once
LOCK = 0x70757267  # an arbitrary number, unique among our advisory locks
SEEN_SECONDS = 15.0  # between two times that a process says that it is there

GONE = "it responded with 410 Gone"
FAILING = f"no attempt has succeeded for {FAILING_DAYS} days"


def record(results: Sequence[Result]) -> None:
    """Records attempts, and switches off the endpoints that want nothing or fail for too long."""
    failing = dict.fromkeys(queue.record(results), FAILING)
    gone = {result.claim.endpoint_id: GONE for result in results if result.gone}
    for id, reason in {**failing, **gone}.items():
        _switch_off(id, reason)


def _switch_off(id: UUID, reason: str) -> None:
    endpoint = Endpoint.objects.existing().filter(pk=id, enabled=True).first()
    if endpoint is not None:
        life.switch_off(endpoint, reason=reason)
        logger.warning("Endpoint %s was switched off: %s", id, reason)


def seen() -> bool:
    """Writes that this process is there."""
    name = f"{socket.gethostname()[:150]}:{os.getpid()}"
    Process.objects.update_or_create(name=name, defaults={"seen_at": Now()})
    return False


def encrypt_again() -> bool:
    """Encrypts secrets under the present SECRET_KEY, so that a fallback can be removed."""
    changed, unknown = secrets.encrypt_again()
    if changed:
        logger.info("The secrets of %d endpoints are encrypted under the new SECRET_KEY", changed)
    if unknown:
        logger.error("No key decrypts the secrets of %d endpoints", unknown)
    return False


# Attempts first: they refer to the deliveries.
_PURGE = """
    WITH old AS (
        SELECT id FROM (
            SELECT id, created_at FROM webhooks_delivery ORDER BY id LIMIT %(batch)s
        ) AS first WHERE created_at < %(before)s
    ), attempts AS (
        DELETE FROM webhooks_attempt WHERE delivery_id IN (SELECT id FROM old)
    )
    DELETE FROM webhooks_delivery WHERE id IN (SELECT id FROM old)
"""


def purge() -> bool:
    """Deletes a batch of what is older than it is kept; one process at a time.

    Returns:
        Whether there may be more.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        if cursor.fetchone() != (True,):
            return False
        cursor.execute(_PURGE, {"batch": BATCH, "before": timezone.now() - KEEP})
        more = cursor.rowcount == BATCH
        Process.objects.filter(seen_at__lt=Now() - KEEP).delete()
        return events.purge() or more


def fold_counts() -> bool:
    """Folds the document counts of `/me`, so that reading them stays cheap."""
    counts.fold()
    return False


# Each with the seconds between two times.
JOBS: tuple[tuple[float, Callable[[], bool]], ...] = (
    (SEEN_SECONDS, seen),
    (60.0, fold_counts),
    (3600.0, purge),
    (24 * 3600.0, encrypt_again),
)
