"""The WSGI entry point. The other services must be running (`config.runtime.startup`)."""

import gc
from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

from config.runtime import startup

startup.setup()

from django.conf import settings  # noqa: E402 - after setup
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402

# Otherwise the first request waits until the views are loaded and the client of the object storage
# is made.
from apikeys.usage import flusher  # noqa: E402
from audit import monitoring as audit_log  # noqa: E402
from config import urls  # noqa: E402, F401
from config.runtime import metrics, slots  # noqa: E402, F401
from config.runtime.postgresql import sessions  # noqa: E402
from documents import storage  # noqa: E402
from documents.download import stream  # noqa: E402
from events.webhooks import monitoring as webhooks  # noqa: E402

django = WSGIHandler()


def application(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    """Hands a body that is already whole to granian in one piece.

    granian then sends it together with its head. A worker that is killed between the two would
    leave a client with a head and no body.
    """
    response = django(environ, start_response)
    if response.streaming:
        return response
    try:
        return [b"".join(response)]
    finally:
        response.close()


storage.client()
slots.open_connections()
flusher.start()
if settings.METRICS_PORT:
    readers = (
        sessions.read_metrics,  # first: the others may wait for the tables that it names
        audit_log.read_metrics,
        webhooks.read_metrics,
    )
    metrics.start(settings.METRICS_HOST, settings.METRICS_PORT, *readers)


def break_off(patience: float) -> None:
    """Ends the work of this process: what it still sends or has counted is recorded.

    Args:
        patience: seconds that downloads which are just being recorded may take.
    """
    stream.break_off_all(patience)
    flusher.flush_last()


# What start-up made lasts as long as the process. The garbage collector need not look at it again,
# which makes the slowest responses quicker.
gc.collect()
gc.freeze()
