"""The WSGI entry point. The other services must be running.

With a missing or unsafe variable it ends with one line that names it.
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

from config.checks import environment_errors  # noqa: E402 - needs DJANGO_SETTINGS_MODULE

if errors := environment_errors():
    # One line instead of a traceback. The server then reports a failed worker and ends too.
    print(f"{errors[0].msg} {errors[0].hint}", file=sys.stderr)  # noqa: T201
    raise SystemExit(1)

# Otherwise the first request waits until the views are loaded and the client of the object storage
# is made.
from config import urls  # noqa: E402, F401 - needs Django
from documents import storage  # noqa: E402

storage.prepare()

# What start-up made lasts as long as the process. The garbage collector need not look at it again,
# which makes the slowest responses quicker.
gc.collect()
gc.freeze()
