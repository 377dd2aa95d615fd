"""Up to which id all entries are visible, so that the sealer need not look at older ones."""

import re
from dataclasses import dataclass

_LINE = re.compile(r"complete to (\d+), then to (\d+) from transaction (\d+)", re.ASCII)


@dataclass(frozen=True)
class Horizon:
    """A line of each checkpoint, which is signed; see `audit.models.Checkpoint`."""

    complete_to: int = 0
    next_complete_to: int = 0
    next_transaction: int = 0

    def __str__(self) -> str:
        return (
            f"complete to {self.complete_to}, then to {self.next_complete_to} from transaction "
            f"{self.next_transaction}"
        )

    @classmethod
    def parse(cls, line: str) -> "Horizon | None":
        """Reads the text that `str()` writes; None if it is anything else."""
        found = _LINE.fullmatch(line)
        return cls(*map(int, found.groups())) if found else None

    def advanced(self, xmin: int, xmax: int, newest_id: int) -> "Horizon":
        """The horizon of a snapshot: no transaction before `xmin` runs any more."""
        if xmin < self.next_transaction:
            return self
        return Horizon(self.next_complete_to, newest_id, xmax)
