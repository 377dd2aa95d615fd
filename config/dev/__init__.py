"""The services of a laptop and the tests: which are started, and where their data is."""

import atexit
import fcntl
import os
import secrets
from collections.abc import Callable, MutableMapping
from pathlib import Path

from config.dev.services import S3, Postgres, Redis, Service, write_private
from config.env import data_dir

SERVICES: dict[str, type[Service]] = {service.name: service for service in (Postgres, S3, Redis)}
started: dict[Path, Service] = {}  # by their folder
__all__ = ["SERVICES", "StackError", "data_dir", "generated_once", "provide", "started"]


class StackError(Exception):
    """The services cannot be used; the text says what to do."""


def provide(
    environ: MutableMapping[str, str], folder: Path, services: tuple[str, ...] = ("postgres", "s3")
) -> None:
    """Starts each service whose variable `environ` lacks, and sets its variables.

    Also sets SECRET_KEY and, on a laptop, which has none, STATIC_ROOT. The services end with this
    process. What it and its children write from now on is for this user only, as is the folder.

    Args:
        environ: usually os.environ; changed in place.
        folder: the services' data folder; created if it does not exist.
        services: names from SERVICES.

    Raises:
        StackError: one sentence that says what to change.
    """
    wanted = [name for name in services if not environ.get(SERVICES[name].variable)]
    os.umask(0o077)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if wanted:
            _lock(folder)
        if not environ.get("SECRET_KEY"):
            environ["SECRET_KEY"] = generated_once(
                folder / "secret_key", lambda: secrets.token_urlsafe(48)
            )
            environ.setdefault("HTTPS_ONLY", "no")  # a laptop has no TLS
            environ.setdefault("SECOND_FACTOR", "nobody")  # its passwords are printed
            environ["STATIC_ROOT"] = environ.get("STATIC_ROOT") or str(folder / "static")
        for name in wanted:
            environ.update(_start(SERVICES[name], folder / name))
    except OSError as exc:
        raise StackError(
            f"The data folder {folder} cannot be used: {exc.strerror or exc}. "
            "Choose another one with DATA_DIR=/path/to/folder."
        ) from exc


def _start(kind: type[Service], folder: Path) -> dict[str, str]:
    try:
        service = kind(folder)
        service.start()
    except (FileNotFoundError, RuntimeError) as exc:
        text = " ".join(str(exc).split())
        raise StackError(f"{kind.name} did not start: {text}. Its log is in {folder}.") from exc
    started[folder] = service
    atexit.register(service.stop)
    return service.variables()


def _lock(folder: Path) -> None:
    """Locks the folder until this process and its services have ended.

    Raises:
        StackError: another process uses it.
    """
    lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    os.set_inheritable(lock, True)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise StackError(
            f"Another process uses the data folder {folder}, perhaps make run, which may just be "
            "stopping. Another one beside it: make run PORT=8001 DATA_DIR=/path/to/folder"
        ) from None


def generated_once(file: Path, generate: Callable[[], str]) -> str:
    """The file's text, which is generated at the first call."""
    if not file.exists():
        write_private(file, generate())
    return file.read_text()
