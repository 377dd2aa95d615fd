"""How many responses a process streams at once: each takes a thread until its last byte."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class StreamLimit:
    """Counts the responses of one kind.

    Args:
        limit: how many there may be.
        per_holder: how many of them one holder, such as an API key, may have.
        error: raised if there are too many, with the reason.
    """

    def __init__(self, limit: int, per_holder: int, error: type[Exception]) -> None:
        self._limit = limit
        self._per_holder = per_holder
        self._error = error
        self._lock = threading.Lock()
        self._held: Counter[Hashable] = Counter()

    @contextmanager
    def begin(self, holder: Hashable) -> Iterator[None]:
        """Counts a response, which is made within this context and calls `give_back` at its end."""
        with self._lock:
            if self._held.total() >= self._limit:
                raise self._error("this process has reached its limit of responses in progress")
            if self._held[holder] >= self._per_holder:
                raise self._error("the key or user has reached its limit of responses in progress")
            self._held[holder] += 1
        try:
            yield
        except BaseException:
            self.give_back(holder)
            raise

    def give_back(self, holder: Hashable) -> None:
        """Counts a response that has ended."""
        with self._lock:
            self._held -= Counter({holder: 1})  # without zeros
