"""Limits the processor time of processes, with Linux's control groups."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import psutil

GROUPS = Path("/sys/fs/cgroup")
PERIOD = 100_000  # microseconds; a group that has used its part of one waits for the next


class NoLimits(Exception):
    """This machine does not let this user set limits."""


@contextlib.contextmanager
def limited(root: int, cores: float) -> Iterator[None]:
    """Gives a process and its descendants together a part of a core, as a smaller machine has.

    Raises:
        NoLimits: this is not possible here.
    """
    second = (GROUPS / "cgroup.controllers").exists()  # control groups version 2
    parent = GROUPS if second else GROUPS / "cpu"
    group, quota = parent / f"bench-{root}", round(cores * PERIOD)
    process = psutil.Process(root)
    with contextlib.ExitStack() as undoing:
        try:
            group.mkdir()
            undoing.callback(group.rmdir)
            if second:
                (group / "cpu.max").write_text(f"{quota} {PERIOD}")
            else:
                (group / "cpu.cfs_quota_us").write_text(str(quota))
            undoing.callback(_move, group, parent)
            for each in (process, *process.children(recursive=True)):
                (group / "cgroup.procs").write_text(str(each.pid))
        except OSError as error:
            raise NoLimits(error.strerror) from None
        yield


def _move(group: Path, parent: Path) -> None:
    """Moves all processes of a group to its parent; a group with processes cannot be removed."""
    for pid in (group / "cgroup.procs").read_text().split():
        (parent / "cgroup.procs").write_text(pid)
