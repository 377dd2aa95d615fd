"""Being asked to end (Ctrl-C, SIGTERM, a closed terminal) between two steps, never within one."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(SystemExit):
    """The process was asked to end. Left alone, this ends it."""

    def __init__(self, number: int) -> None:
        self.status = 128 + number  # what a shell makes of such an end
        super().__init__(self.status)


class Stop:
    """Remembers that a signal came. An exception in the midst of a commit could not be undone."""

    def __init__(self) -> None:
        self._number = 0

    def note(self, number: int, frame: FrameType | None) -> None:
        self._number = number

    def check(self) -> None:
        """Returns when the work may go on.

        Raises:
            Stopped: a signal came.
        """
        if self._number:
            raise Stopped(self._number)


@contextlib.contextmanager
def stoppable() -> Iterator[Stop]:
    """Signals wait for `check` while this is open; only Python's main thread receives any."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # A signal that this process was started to ignore (nohup) stays ignored.
    heard = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop.note) for number in heard}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
