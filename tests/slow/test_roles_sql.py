"""deploy/roles.sql and deploy/restore run nothing of other roles as superuser or owner."""

import contextlib
import os
import pwd
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.dev.services import POSTGRES, Postgres
from config.ports import free_port
from tests.support.proxy import HOST
from tests.support.server import ROOT, eventually

Connection = psycopg.Connection[tuple[Any, ...]]


@pytest.fixture
def cluster() -> Iterator[Postgres]:
    """A server of the test's own, on which the file has run once."""
    with tempfile.TemporaryDirectory() as folder:
        postgres = Postgres(Path(folder))
        postgres.start()
        yield postgres
        postgres.stop()


def connect(cluster: Postgres, role: str) -> Connection:
    return psycopg.connect(cluster.url(role), autocommit=True)


def test_functions_of_the_owner_are_not_found_by_the_superuser(cluster: Postgres) -> None:
    with connect(cluster, "documents_owner") as owner:
        owner.execute("CREATE TABLE ran (role text)")
        owner.execute("GRANT INSERT ON ran TO PUBLIC")
        owner.execute(
            "CREATE FUNCTION to_regclass(text) RETURNS regclass LANGUAGE sql AS"
            " $$ INSERT INTO public.ran VALUES (current_user); SELECT NULL::regclass $$"
        )
        owner.execute("ALTER DATABASE documents SET search_path = public, pg_catalog")
        assert cluster.is_ready()
        assert owner.execute("SELECT role FROM public.ran").fetchall() == []


def test_serving_role_may_make_nothing_of_its_own(cluster: Postgres) -> None:
    with connect(cluster, "documents") as serving:
        for statement in (
            "CREATE FUNCTION pg_temp.own() RETURNS int LANGUAGE sql AS 'SELECT 1'",
            "CREATE TEMPORARY TABLE own ()",
            "CREATE TABLE public.own ()",
            "CREATE SCHEMA own",
        ):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                serving.execute(statement)


DEBIAN = sorted(Path("/usr/lib/postgresql").glob("*/bin"))[-1:]


@contextlib.contextmanager
def managed(programs: Path) -> Iterator[str]:
    """The URL of a PostgreSQL as providers have it: `customer` is no superuser."""
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        user: dict[str, Any] = {}
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        words = [f"{programs}/initdb", "-D", f"{folder}/data", "-U", "provider", "--auth=trust"]
        words += ["--locale=C", "--encoding=UTF8"]
        subprocess.run(words, check=True, capture_output=True, cwd="/", **user)
        words = [f"{programs}/postgres", "-D", f"{folder}/data", f"--port={port}"]
        words += [f"--listen_addresses={HOST}", "--unix_socket_directories="]
        server = subprocess.Popen(words, stderr=subprocess.DEVNULL, cwd="/", **user)
        try:
            url = f"postgresql://customer@{HOST}:{port}/postgres"
            ready = [f"{POSTGRES}/pg_isready", "--quiet", "-d", url]
            assert eventually(lambda: subprocess.run(ready).returncode == 0)
            yield url
        finally:
            server.send_signal(signal.SIGINT)
            server.wait()


@pytest.fixture(params=[(POSTGRES, ""), ([POSTGRES, *DEBIAN][-1], "WITH ADMIN OPTION")])
def provided(request: pytest.FixtureRequest) -> Iterator[tuple[str, str]]:
    """Its URL, and how `customer` may pass on the statistics; on two versions if there are."""
    programs, stats = request.param
    with managed(programs) as url:
        yield url, stats


def test_role_without_a_superuser_s_rights_makes_roles_that_migrate_and_serve(
    provided: tuple[str, str], tmp_path: Path
) -> None:
    url, stats = provided

    def run(*words: str, **variables: str) -> str:
        done = subprocess.run(
            words, env=os.environ | variables, cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    with psycopg.connect(url.replace("customer", "provider"), autocommit=True) as provider:
        provider.execute("CREATE ROLE customer LOGIN CREATEDB CREATEROLE")
        provider.execute(f"GRANT pg_read_all_stats TO customer {stats}")
    names = ("OWNER_PASSWORD", "SERVING_PASSWORD", "SEALER_PASSWORD")
    psql = [f"{POSTGRES}/psql", "-X", "-d", url, "-f", "deploy/roles.sql"]
    for _ in range(2):
        warned = run(*psql, **dict.fromkeys(names, "secret"))
        assert "Not by a superuser" in warned
        assert ("Not granted" in warned) == (stats == "")
    urls = {
        role: url.replace("customer@", f"{role}:secret@").removesuffix("postgres") + "documents"
        for role in ("documents_owner", "documents", "documents_sealer")
    }
    manage = [sys.executable, "manage.py"]
    run(*manage, "migrate", "--no-input", DATABASE_URL=urls["documents_owner"])
    acme = ("Acme", "--plan", "PRO", "--admin", "ada@acme.example")
    run(*manage, "create_workspace", *acme, DATABASE_URL=urls["documents"])
    with psycopg.connect(urls["documents_sealer"]) as sealer:
        assert sealer.execute("SELECT count(*) FROM audit_auditentry").fetchall() != [(0,)]
    with psycopg.connect(urls["documents"]) as serving:
        may = "SELECT pg_has_role('pg_read_all_stats', 'USAGE'), rolsuper FROM pg_roles"
        found = serving.execute(f"{may} WHERE rolname = current_user").fetchall()
        assert found == [(stats != "", False)]
        owner = "SELECT pg_has_role('customer', 'documents_owner', 'USAGE')"
        assert serving.execute(owner).fetchall() == [(False,)]


def test_restored_dump_runs_as_the_owner_with_its_privileges_and_counts_as_a_backup(
    cluster: Postgres, tmp_path: Path
) -> None:
    with connect(cluster, "documents_owner") as owner:
        owner.execute("CREATE MATERIALIZED VIEW who AS SELECT session_user::text AS role")
        owner.execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO documents")
        owner.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO documents")
        owner.execute("CREATE TABLE only_read (id int)")
        url = owner.info.dsn
    programs = POSTGRES
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    password = cluster.password
    file = str(tmp_path / "database.dump")
    dump = [str(programs / "pg_dump"), "--format", "custom", url, "--file", file]
    subprocess.run(dump, env={**variables, "PGPASSWORD": password}, check=True)
    (tmp_path / "env").write_text("S3_BUCKET=documents\n")
    (tmp_path / "owner-env").write_text(f"DATABASE_OWNER_URL={cluster.url('documents_owner')}\n")
    text = (ROOT / "deploy" / "restore").read_text().replace("/etc/documents-api", str(tmp_path))
    (tmp_path / "restore").write_text(text)
    for name in ("store", "manage"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path}/called\n')
        (tmp_path / name).chmod(0o755)
    with connect(cluster, "documents_owner") as owner:
        owner.execute("DROP MATERIALIZED VIEW who")
        owner.execute("DROP TABLE only_read")
        owner.execute("ALTER DEFAULT PRIVILEGES REVOKE ALL ON TABLES FROM documents")
        subprocess.run(["sh", tmp_path / "restore", tmp_path], env=variables, check=True)
        assert owner.execute("SELECT role FROM who").fetchall() == [("documents_owner",)]
        owner.execute("CREATE TABLE later (id int)")
        may = "SELECT has_table_privilege('documents', %s, %s)"
        for table, privilege, granted in (
            ("who", "SELECT", True),
            ("only_read", "SELECT", True),
            ("only_read", "INSERT", False),
            ("later", "SELECT", True),
        ):
            assert owner.execute(may, [table, privilege]).fetchall() == [(granted,)], table
    stored, migrated, recorded = (tmp_path / "called").read_text().splitlines()
    assert stored == f"store copy {tmp_path}/files store:documents"
    assert migrated == "manage migrate"
    assert recorded.startswith("manage record_backup restored: that of 20")


@pytest.mark.parametrize("script", ["backup", "install", "roles"])
def test_program_of_the_user_postgres_starts_in_a_folder_that_it_may_enter(script: str) -> None:
    """Not in root's, where it prints that it could not change to it."""
    text = (ROOT / "deploy" / script).read_text().replace("\\\n", "")
    commands = re.findall(r"^.*runuser -u postgres.*$", text, re.MULTILINE)
    assert commands
    assert [line for line in commands if not re.search(r"\benv -C / ", line)] == []
