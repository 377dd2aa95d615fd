"""The audit log's part of `/readyz`."""

from audit.tree import state


class NotSealed(Exception):
    """Entries wait to be sealed for too long, or the last verification has failed."""


def check_seals() -> None:
    """Raises an exception unless the log is sealed and, as far as is known, intact."""
    if warnings := state.read_apart().warnings():
        raise NotSealed(" ".join(warnings))
