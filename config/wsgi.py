"""The WSGI entry point. The other services must be running.

Without a required variable it ends with one line that names the variable.
"""

import gc
import os
import sys

from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created

from config.database import close_with_thread

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

connection_created.connect(close_with_thread)
application = get_wsgi_application()

from django.conf import settings  # noqa: E402 - needs DJANGO_SETTINGS_MODULE

if settings.MISSING:
    first = settings.MISSING[0]
    # One line instead of a traceback. The server then reports a failed worker and ends too.
    print(f"{first} is not set. Set it to {settings.REQUIRED[first]}.", file=sys.stderr)  # noqa: T201
    raise SystemExit(1)

# Otherwise the first request waits until the views are loaded and the client of the object storage
# is made.
from config import metrics, urls  # noqa: E402, F401 - needs Django
from documents import storage  # noqa: E402

storage.prepare()
if settings.METRICS_PORT:
    metrics.start(settings.METRICS_HOST, settings.METRICS_PORT)

# What start-up made lasts as long as the process. The garbage collector need not look at it again,
# which makes the slowest responses quicker.
gc.collect()
gc.freeze()
