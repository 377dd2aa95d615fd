"""The benchmark of the service; nothing here runs in production."""

import sys
from functools import partial

log = partial(print, file=sys.stderr, flush=True)
