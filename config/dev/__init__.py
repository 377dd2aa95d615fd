"""PostgreSQL and an S3 server for a laptop and the tests, without installing either.

`provide` sets the variables that the environment lacks. The first process that needs a service
starts it, and the service ends with this process; others join (`config.dev.attach`).
"""

import contextlib
import os
import secrets
import stat
from collections.abc import Callable, MutableMapping
from pathlib import Path

from config.dev.attach import START_LOCK, StackError, attach, locked
from config.dev.postgres import Postgres
from config.dev.s3_and_redis import S3, Redis
from config.dev.service import Service, write_private

SERVICES: dict[str, type[Service]] = {s.name: s for s in (Postgres, S3, Redis)}

__all__ = ["StackError", "data_dir", "generated_once", "provide"]

DEFAULT_DATA_DIR = Path(__file__).resolve().parent.parent.parent / "var"


def data_dir(environ: MutableMapping[str, str]) -> Path:
    """The folder for all data of the embedded services: DATA_DIR, or var/ in the project."""
    return Path(environ.get("DATA_DIR") or DEFAULT_DATA_DIR).absolute()


def provide(
    environ: MutableMapping[str, str], folder: Path, services: tuple[str, ...] = ("postgres", "s3")
) -> None:
    """Sets the variables of each service that `environ` lacks, and starts the service if needed.

    Also sets SECRET_KEY and, on a laptop, which has none, STATIC_ROOT.

    What this process and its children write from now on is for this user only, as is the folder.

    Args:
        environ: usually os.environ; changed in place.
        folder: the services' data folder; created if it does not exist.
        services: names from SERVICES.

    Raises:
        StackError: one sentence that says what to change.
    """
    wanted = [name for name in services if not environ.get(SERVICES[name].variable)]
    try:
        if wanted:
            os.umask(0o077)
            folder.mkdir(parents=True, exist_ok=True)
            _make_private(folder)
        if not environ.get("SECRET_KEY"):
            environ["SECRET_KEY"] = generated_once(
                folder / "secret_key", lambda: secrets.token_urlsafe(48)
            )
            environ.setdefault("HTTPS_ONLY", "no")  # a laptop has no TLS
            environ.setdefault("SECOND_FACTOR", "nobody")  # its passwords are printed
            environ["STATIC_ROOT"] = environ.get("STATIC_ROOT") or str(folder / "static")
        for name in wanted:
            environ.update(attach(SERVICES[name], folder / name))
    except OSError as exc:
        raise StackError(
            f"The data folder {folder} cannot be used: {exc.strerror or exc}. "
            "Choose another one with DATA_DIR=/path/to/folder."
        ) from exc


def _make_private(folder: Path) -> None:
    """Takes rights of others away that a folder of an earlier release has.

    PostgreSQL runs as another user if this one is root, and has to pass through the folder.
    """
    names = ("checkpoints", "received", "s3")
    for path in (folder, *filter(Path.exists, map(folder.joinpath, names))):
        mode = stat.S_IMODE(path.stat().st_mode)
        if not mode & stat.S_ISVTX:  # such as /tmp, which is not ours
            private = mode & (~0o066 if os.geteuid() == 0 else ~0o077)
            # Not without need: another process may just be opening the folder to PostgreSQL.
            if private != mode:
                with contextlib.suppress(PermissionError):  # nor is that of another user
                    path.chmod(private)


def generated_once(file: Path, generate: Callable[[], str]) -> str:
    """The text of a file of the data folder, such as a key, which the first start generates.

    Raises:
        OSError: the folder cannot be used.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with locked(file.parent / START_LOCK):
        if not file.exists():
            write_private(file, generate())
    return file.read_text()
