"""How this service holds its store."""

import subprocess
import sys

from tests.support.server import ROOT

AT_ONCE = """
import gc, threading
from concurrent.futures import ThreadPoolExecutor
import django
django.setup()
from botocore.client import BaseClient
from documents import storage
start = threading.Barrier(8)
def ask(_):
    start.wait()
    storage.signed_url("a.pdf", 1)
with ThreadPoolExecutor(8) as threads:
    list(threads.map(ask, range(8)))
    gc.collect()
    print(sum(issubclass(type(thing), BaseClient) for thing in gc.get_objects()))
"""


def test_storage_threads_that_first_ask_at_once_share_one_client() -> None:
    """Each client keeps 17 MB: a server whose first downloads come together held 32 of them."""
    done = subprocess.run(
        [sys.executable, "-c", AT_ONCE], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1\n"
