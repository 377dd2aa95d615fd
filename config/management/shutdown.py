"""Graceful shutdown: Ctrl-C, SIGTERM or a closed terminal end a command between two steps."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(SystemExit):
    """The process received a signal. If nothing catches this, the process ends."""

    def __init__(self, number: int) -> None:
        self.status = 128 + number  # the shell's convention
        super().__init__(self.status)


class Stop:
    """Remembers a signal. An exception during a commit could not be undone."""

    def __init__(self) -> None:
        self._number = 0

    def note(self, number: int, frame: FrameType | None) -> None:
        self._number = number

    def check(self) -> None:
        """Returns if no signal was received.

        Raises:
            Stopped: a signal was received.
        """
        if self._number:
            raise Stopped(self._number)


@contextlib.contextmanager
def stoppable() -> Iterator[Stop]:
    """Defers signals to `check`. Only Python's main thread receives signals."""
    stop = Stop()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    # A signal that is already ignored (nohup) stays ignored.
    handled = [n for n in SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]
    before = {number: signal.signal(number, stop.note) for number in handled}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
