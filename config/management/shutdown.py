"""Graceful shutdown: Ctrl-C, SIGTERM or a closed terminal end a command between two steps."""

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from types import FrameType

POLL = 0.25  # seconds
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(SystemExit):
    """The process received a signal. If nothing catches this, the process ends."""

    code: int


class Shutdown:
    """Remembers a signal, since an exception during a commit could not be undone.

    Not a threading.Event: a handler that sets one waits for ever if it interrupts `Event.wait`
    while that holds the event's lock.
    """

    _number = 0

    def note(self, number: int, frame: FrameType | None) -> None:
        self._number = number

    def check(self) -> None:
        if self._number:
            raise Stopped(128 + self._number)  # the shell's convention

    def wait(self, seconds: float) -> None:
        """Returns after some seconds; raises as `check` does."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.check()
            time.sleep(POLL)


@contextlib.contextmanager
def graceful_shutdown() -> Iterator[Shutdown]:
    """Defers signals to `check`. Only Python's main thread receives signals."""
    shutdown = Shutdown()
    if threading.current_thread() is not threading.main_thread():
        yield shutdown
        return
    # A signal that is already ignored (nohup) stays ignored.
    handled = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, shutdown.note) for number in handled}
    try:
        yield shutdown
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
