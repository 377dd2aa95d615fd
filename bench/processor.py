"""Processor time of process trees, from /proc (Linux)."""

import os
from dataclasses import dataclass
from pathlib import Path

TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds


@dataclass(frozen=True)
class _Process:
    parent: int
    own: int  # ticks
    ended_children: int  # ticks of children that have ended, and of theirs


def _all() -> dict[int, _Process]:
    found = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                # The name in brackets may hold anything; fields are counted behind it (proc(5)).
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended just now
                continue
            times = [int(field) for field in fields[11:15]]
            found[int(folder.name)] = _Process(int(fields[1]), sum(times[:2]), sum(times[2:]))
    return found


def _tree(root: int, processes: dict[int, _Process]) -> list[int]:
    found = [root]
    for pid in found:
        found += [child for child, process in processes.items() if process.parent == pid]
    return found


def spent(root: int) -> float:
    """Seconds that a process and all below it have used, those that have ended included."""
    processes = _all()
    return TICK * sum(
        processes[pid].own + processes[pid].ended_children
        for pid in _tree(root, processes)
        if pid in processes
    )


def spent_by_each(root: int) -> dict[int, float]:
    """Seconds that each living process of a tree has used itself."""
    processes = _all()
    return {pid: TICK * processes[pid].own for pid in _tree(root, processes) if pid in processes}
