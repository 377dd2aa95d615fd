"""What requests leave behind for the next one with the same credential."""

from typing import Generic, TypeVar

Value = TypeVar("Value")
MOST_HINTS = 10_000  # credentials that are remembered; then it begins anew


class Hints(Generic[Value]):
    """What the last request with a credential has shown.

    It may be out of date, and two credentials can have one hash: it may choose what is quicker or
    whose queue a request waits in, but not what it may do.
    """

    def __init__(self) -> None:
        self._values: dict[int, Value] = {}  # by the credential's hash

    def get(self, credential: str) -> Value | None:
        return self._values.get(hash(credential))

    def set(self, credential: str, value: Value | None) -> None:
        """Remembers the value; None forgets the credential."""
        name = hash(credential)
        if value is None:
            self._values.pop(name, None)
            return
        if len(self._values) >= MOST_HINTS and name not in self._values:
            self._values.clear()
        self._values[name] = value
