"""Processor time of process trees (Linux)."""

import os

import psutil

TICK = 1 / os.sysconf("SC_CLK_TCK")  # seconds


def _tree(root: int) -> dict[int, tuple[float, ...]]:
    """Each living process of a tree: user and system time, its own and of children that ended."""
    found = {}
    process = psutil.Process(root)
    for each in (process, *process.children(recursive=True)):
        try:
            found[each.pid] = tuple(each.cpu_times()[:4])
        except psutil.NoSuchProcess:  # it has just ended
            continue
    return found


def spent(root: int) -> float:
    """Seconds that a process and its descendants have used, including those that have ended."""
    return sum(sum(times) for times in _tree(root).values())


def spent_by_each(root: int) -> dict[int, float]:
    """Seconds that each living process of a tree has used itself."""
    return {pid: sum(times[:2]) for pid, times in _tree(root).items()}
