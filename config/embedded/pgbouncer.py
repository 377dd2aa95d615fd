"""PgBouncer with deploy/pgbouncer.ini, on a loopback port, for the benchmark."""

import os
import re
import shutil
import subprocess
from pathlib import Path
from urllib.parse import unquote, urlsplit

from config.embedded.service import HOST

INI = Path(__file__).resolve().parent.parent.parent / "deploy" / "pgbouncer.ini"
TRACKS_STATEMENTS = (1, 21)
NOBODY = "nobody"  # PgBouncer refuses to run as root


def install(folder: Path, port: int, database: str) -> list[str]:
    """Writes its files into an empty folder, with this port; returns its command.

    A version before 1.21 does not know prepared statements. It keeps each client's connection to
    PostgreSQL until the client leaves (the mode "session").

    Args:
        database: the URL of the database behind it.
    """
    url = urlsplit(database)
    name = url.path.removeprefix("/")
    changes = {
        r"^documents = .*": f"{name} = host={url.hostname} port={url.port} dbname={name}",
        "listen_port = 6432": f"listen_port = {port}\nunix_socket_dir =",
        "/etc/pgbouncer/userlist.txt": str(folder / "userlist.txt"),
        "^pidfile = .*": "pidfile =",
    }
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"  # not on all users' PATH
    if _version(program) < TRACKS_STATEMENTS:
        changes |= {"^max_prepared_statements.*": "", "= transaction": "= session"}
    text = INI.read_text()
    for pattern, replacement in changes.items():
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    ini, users = folder / "pgbouncer.ini", folder / "userlist.txt"
    ini.write_text(text)
    users.write_text(f'"{unquote(url.username or "")}" "{unquote(url.password or "")}"\n')
    users.chmod(0o600)
    if os.geteuid() != 0:
        return [program, "-q", str(ini)]
    for file in (folder, ini, users):
        shutil.chown(file, NOBODY)
    return [program, "-q", "-u", NOBODY, str(ini)]


def _version(program: str) -> tuple[int, ...]:
    text = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    return tuple(map(int, re.findall(r"\d+", text)[:2]))


def connected(database: str, port: int) -> str:
    """The URL of a database, through the PgBouncer on a port of this machine."""
    url = urlsplit(database)
    credentials = url.netloc.rpartition("@")[0]
    return url._replace(netloc=f"{credentials}@{HOST}:{port}").geturl()
