"""The WSGI entry. It starts nothing: what it needs is named by the environment.

Without a required variable, or as a second process without a shared counter, it ends with one
line that says so.
"""

import fcntl
import gc
import hashlib
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import IO

from django.core.wsgi import get_wsgi_application
from django.db.backends.signals import connection_created

from config.database import close_with_thread

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

HANDOVER = 10.0  # seconds that a predecessor may take to stop


def stop(line: str) -> None:
    """Ends this process: the server that loads it reports a failed worker and ends too."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - the log is not set up yet
    raise SystemExit(1)


def be_the_only_process(secret: str) -> IO[str] | None:
    """Holds this machine's lock of the installation that `secret` belongs to.

    Without Redis the rate limit is counted in this process; a second one would count anew.

    Returns:
        The lock, to be kept open; None when another process holds it.
    """
    name = hashlib.sha256(secret.encode()).hexdigest()[:32]
    file = Path(tempfile.gettempdir()) / f"document-read-api-{os.getuid()}-{name}.lock"
    lock = os.fdopen(os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600), "w")
    deadline = time.monotonic() + HANDOVER
    while True:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return lock
        except BlockingIOError:
            if time.monotonic() > deadline:
                lock.close()
                return None
            time.sleep(0.1)


connection_created.connect(close_with_thread)
application = get_wsgi_application()

from django.conf import settings  # noqa: E402 - needs DJANGO_SETTINGS_MODULE

if settings.MISSING:
    first = settings.MISSING[0]
    stop(f"{first} is not set. Set it to {settings.REQUIRED[first]}.")
if not settings.REDIS_URL:
    only = be_the_only_process(settings.SECRET_KEY)
    if only is None:
        stop(
            "REDIS_URL is not set and another process serves already: each would count the rate "
            "limit on its own. Set REDIS_URL, or run one process."
        )

# Else the first request waits until the views and the counter's modules are loaded and the store's
# client is made.
from django.core.cache import caches  # noqa: E402

from config import urls  # noqa: E402, F401 - needs Django
from documents import storage  # noqa: E402

caches.all()
storage.prepare()

# What start-up made lasts as long as the process: the collector need not look at it again, which
# shows in the slowest answers.
gc.collect()
gc.freeze()
