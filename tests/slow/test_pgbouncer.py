"""PgBouncer in transaction mode, of a version that loses prepared statements: Debian 12's."""

import os
import pwd
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from config.ports import accepts_connections, free_port
from tests.support import server
from tests.support.nginx import program
from tests.support.processes import check
from tests.support.proxy import HOST
from tests.support.server import eventually


@pytest.fixture
def pooler(tmp_path: Path, transactional_db: None) -> Iterator[str]:
    """DATABASE_URL through PgBouncer."""
    url, port, options = urlsplit(server.test_database_url()), free_port(), dict[str, Any]()
    (tmp_path / "users").write_text(f'"{url.username}" "{url.password}"\n')
    (tmp_path / "ini").write_text(
        f"[databases]\n* = host={url.hostname} port={url.port}\n"
        f"[pgbouncer]\nlisten_addr={HOST}\nlisten_port={port}\nunix_socket_dir=\n"
        f"auth_type=plain\nauth_file={tmp_path}/users\npool_mode=transaction\n"
        "ignore_startup_parameters=extra_float_digits,options\n"
    )
    if os.geteuid() == 0:  # it refuses to run as root
        nobody = pwd.getpwnam("nobody")
        options = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        for each in (tmp_path / "ini", tmp_path / "users", tmp_path, *tmp_path.parents):
            each.chmod(each.stat().st_mode | (0o011 if each.is_dir() else 0o044))
    process = subprocess.Popen([program("pgbouncer", "pgbouncer"), tmp_path / "ini"], **options)
    try:
        assert eventually(lambda: accepts_connections(HOST, port))
        yield url._replace(netloc=f"{url.username}:{url.password}@{HOST}:{port}").geturl()
    finally:
        process.terminate()
        process.wait()


def test_check_finds_a_pooler_that_loses_prepared_statements(pooler: str) -> None:
    found = check(DATABASE_URL=pooler)
    assert "database: (config.E005) The check has failed." in found
    assert "HINT: PgBouncer needs `max_prepared_statements`." in found
    assert "The error was: prepared statement" in found
    assert "config.E005" not in check()
