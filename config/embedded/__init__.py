"""PostgreSQL and an S3 server for a laptop and the tests, without installing either.

`provide` gives the environment what it lacks. Each service belongs to a keeper process that
starts it, watches over it, and stops it once the last process that uses it is gone, however that
one ended: the processes hold a file lock, and the kernel drops it with them.
"""

import secrets
from collections.abc import MutableMapping
from pathlib import Path

from config.embedded.attach import START_LOCK, StackError, join, locked
from config.embedded.postgres import Postgres
from config.embedded.redis import Redis
from config.embedded.s3 import S3
from config.embedded.service import Service

SERVICES: dict[str, type[Service]] = {s.name: s for s in (Postgres, S3, Redis)}


__all__ = ["StackError", "data_dir", "provide"]

DEFAULT_DATA_DIR = Path(__file__).resolve().parent.parent.parent / "var"


def data_dir(environ: MutableMapping[str, str]) -> Path:
    """The folder that everything embedded is written to: DATA_DIR, or var/ in the project."""
    return Path(environ.get("DATA_DIR") or DEFAULT_DATA_DIR).absolute()


def provide(
    environ: MutableMapping[str, str], folder: Path, services: tuple[str, ...] = ("postgres", "s3")
) -> None:
    """Sets the variables of each service that `environ` does not name, starting or joining it.

    The service stays up at least as long as this process.

    Args:
        environ: usually os.environ; changed in place.
        folder: where the services keep their data; made when it is not there.
        services: names from SERVICES.

    Raises:
        StackError: one sentence on what a person has to change.
    """
    wanted = [name for name in services if not environ.get(SERVICES[name].variable)]
    try:
        if wanted or not environ.get("SECRET_KEY"):
            folder.mkdir(parents=True, exist_ok=True)
        if not environ.get("SECRET_KEY"):
            environ["SECRET_KEY"] = _secret_key(folder)
            environ.setdefault("HTTPS_ONLY", "no")  # a laptop's browser gets its cookies by http
        for name in wanted:
            environ.update(join(name, folder / name))
    except OSError as exc:
        raise StackError(
            f"The data folder {folder} cannot be used: {exc.strerror or exc}. "
            "Choose another one with DATA_DIR=/path/to/folder."
        ) from exc


def _secret_key(folder: Path) -> str:
    """The installation's own random key, made at its first start."""
    file = folder / "secret_key"
    with locked(folder / START_LOCK):
        if not file.exists():
            new = file.with_suffix(".new")
            new.touch(mode=0o600)
            new.write_text(secrets.token_urlsafe(48))
            new.replace(file)
    return file.read_text()
