"""The WSGI entry point. The other services must be running.

If a required variable is missing, a variable is not valid, or the database lacks migrations, it
ends with one line that says so.
"""

import gc
import os
import sys
from typing import NoReturn

from django.core.exceptions import ImproperlyConfigured
from django.core.wsgi import get_wsgi_application
from django.db import connections
from django.db.backends.signals import connection_created

from config import migrations
from config.database import limit_statements

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")


def _end(problem: object) -> NoReturn:
    """One line instead of a traceback. The server then reports a failed worker and ends too."""
    print(problem, file=sys.stderr)  # noqa: T201
    raise SystemExit(1)


connection_created.connect(limit_statements)
try:
    application = get_wsgi_application()
except ImproperlyConfigured as exc:
    _end(exc)

from django.conf import settings  # noqa: E402 - needs DJANGO_SETTINGS_MODULE

if settings.MISSING:
    first = settings.MISSING[0]
    _end(f"{first} is not set. Set it to {settings.REQUIRED[first]}.")

migrations.require()
connections.close_all()  # of this thread, which serves no request

# Otherwise the first request waits until the views are loaded and the client of the object storage
# is made.
from config import slots, urls  # noqa: E402, F401 - needs Django
from documents import storage  # noqa: E402

storage.prepare()
slots.open_connections()

# What start-up made lasts as long as the process. The garbage collector need not look at it again,
# which makes the slowest responses quicker.
gc.collect()
gc.freeze()
