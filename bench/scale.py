"""How much is loaded and how long is measured: `full` for numbers, `small` for a smoke test."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """The amounts of one run; the defaults are those of `full`."""

    name: str
    documents: int = 1_000_000  # of the large workspace, without the deleted ones
    workspaces: int = 200  # small ones
    documents_each: int = 1_000
    keys: int = 1_500  # of the large workspace
    keys_each: int = 75
    uploaded: int = 1  # documents of each workspace, the newest, whose files can be downloaded
    large_file: int = 1_000_000  # bytes of the large workspace's newest document
    seconds: float = 4  # of one measurement
    rounds: int = 5

    @property
    def deep(self) -> int:
        """Documents before the page that counts as deep."""
        return self.documents // 2


SCALES = {
    "full": Scale("full"),
    "small": Scale(
        "small",
        documents=2_000,
        workspaces=5,
        documents_each=200,
        keys=100,
        keys_each=20,
        seconds=0.3,
        rounds=1,
    ),
}
# What is broken by `make faults`: a workspace with a large file, and its neighbour.
FAULTS = Scale(
    "faults",
    documents=33,
    workspaces=1,
    documents_each=32,
    keys=50,
    keys_each=50,
    uploaded=33,
    large_file=40_000_000,
)
