"""The benchmark of the service; nothing here runs in production."""

import sys


def log(line: str) -> None:
    """Reports progress."""
    sys.stderr.write(f"{line}\n")
