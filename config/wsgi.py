"""The WSGI entry point, and what a process that serves starts beside it."""

import gc
import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

from apikeys.usage import flusher  # noqa: E402 - needs the settings
from config import systemd  # noqa: E402

flusher.start()
systemd.start()
# Objects made at start-up are never freed, so the garbage collector need not look at them.
gc.freeze()
