"""Deletes the data of `make run`, after asking: `python -m config.dev.reset FOLDER`."""

import shutil
import sys
from pathlib import Path

from config.dev import SERVICES
from config.dev.attach import is_running


def main(folder: Path) -> None:
    """Deletes the folder, unless one of its services runs."""
    if not (folder / "secret_key").exists():
        sys.exit(f"{folder} has no data of make run.")
    if any((folder / name).exists() and is_running(folder / name) for name in SERVICES):
        sys.exit(f"{folder} is in use: stop make run first, with Ctrl-C.")
    print(f"This deletes all data in {folder}: documents, keys, accounts.")  # noqa: T201
    if input("Type yes to go on: ").strip().lower() != "yes":
        sys.exit("Nothing was deleted.")
    shutil.rmtree(folder)
    print("Deleted. make run begins anew.")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
