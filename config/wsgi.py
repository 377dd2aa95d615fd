"""The WSGI entry point, and what a process that serves starts beside it."""

import gc
import os

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
application = get_wsgi_application()

from apikeys.usage import flusher  # noqa: E402 - needs the settings
from config import env, systemd  # noqa: E402
from documents import storage  # noqa: E402

if missing := env.missing():  # `manage.py check` says so too, but not everybody runs it
    raise ImproperlyConfigured(f"{missing[0].name} is not set. Set it to {missing[0].help}.")

storage.client()  # takes 0.3 s, and each thread would make one of its own
flusher.start()
systemd.start()
# Objects made at start-up are never freed, so the garbage collector need not look at them.
gc.freeze()
