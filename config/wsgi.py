"""The WSGI entry point. The other services must be running (`config.startup`)."""

import gc
from collections.abc import Callable
from typing import Any

from config import startup

startup.setup()

from django.conf import settings  # noqa: E402 - after setup
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402

# Otherwise the first request waits until the views are loaded and the client of the object storage
# is made.
from apikeys.usage import flusher  # noqa: E402
from audit import metrics as _  # noqa: E402, F401 - registers them
from config import metrics, slots, urls  # noqa: E402, F401
from config.admission import is_api_version  # noqa: E402
from documents import storage  # noqa: E402
from documents.download import spool  # noqa: E402
from events.webhooks import metrics as __  # noqa: E402, F401 - registers them


class Application(WSGIHandler):
    """Django's, which sends its signals for pages only.

    With each request they close what the API does not have: its database connections belong to
    slots, and it uses no cache.
    """

    def __call__(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Any:
        if not is_api_version(environ["PATH_INFO"]):
            return super().__call__(environ, start_response)
        response: Any = self.get_response(self.request_class(environ))
        start_response(f"{response.status_code} {response.reason_phrase}", [*response.items()])
        return response if response.streaming else [response.content]


application = Application()
storage.prepare()
slots.open_connections()
spool.start()
flusher.start()
if settings.METRICS_PORT:
    metrics.start(settings.METRICS_HOST, settings.METRICS_PORT)

# What start-up made lasts as long as the process. The garbage collector need not look at it again,
# which makes the slowest responses quicker.
gc.collect()
gc.freeze()
