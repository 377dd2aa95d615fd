"""How much is loaded and how long is measured: `full` for numbers, `small` for a smoke test."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Scale:
    """What one run is made of.

    Attributes:
        documents: of the large workspace, deleted ones not counted.
        workspaces, documents_each: the small workspaces.
        keys, keys_each: API keys of the large workspace and of each small one.
        deep: documents before the page that counts as deep.
        entries, entries_few: of the audit history, and of the short one it is compared with.
        imported: documents of the largest import.
        written: documents that writers make in one measurement.
        seconds: that one measurement lasts, after a warm-up of `warm_up` seconds.
        rounds: how often everything is measured.
    """

    name: str
    documents: int
    workspaces: int
    documents_each: int
    keys: int
    keys_each: int
    deep: int
    entries: int
    entries_few: int
    imported: int
    written: int
    seconds: float
    warm_up: float
    rounds: int


SCALES = {
    "full": Scale(
        name="full",
        documents=1_000_000,
        workspaces=200,
        documents_each=1_000,
        keys=1_500,
        keys_each=75,
        deep=500_000,
        entries=10_000_000,
        entries_few=10_000,
        imported=100_000,
        written=8_000,
        seconds=4,
        warm_up=1,
        rounds=5,
    ),
    "small": Scale(
        name="small",
        documents=2_000,
        workspaces=5,
        documents_each=200,
        keys=100,
        keys_each=20,
        deep=1_000,
        entries=5_000,
        entries_few=1_000,
        imported=200,
        written=400,
        seconds=0.3,
        warm_up=0.1,
        rounds=1,
    ),
}
