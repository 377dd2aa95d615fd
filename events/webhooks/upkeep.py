"""What a delivering process does besides: switching endpoints off, saying that it is there."""

import logging
import os
import socket
from collections.abc import Sequence
from uuid import UUID

from django.db.models.functions import Now

from events.webhooks import life, queue
from events.webhooks.models import Endpoint, Process
from events.webhooks.queue import FAILING_DAYS, Result

logger = logging.getLogger(__name__)

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


def seen() -> None:
    """Writes that this process is there."""
    name = f"{socket.gethostname()[:150]}:{os.getpid()}"
    Process.objects.update_or_create(name=name, defaults={"seen_at": Now()})
