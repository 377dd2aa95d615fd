"""deploy/roles.sql and deploy/restore run nothing of other roles as superuser or owner."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.dev.services import POSTGRES, Postgres
from tests.support.server import ROOT

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


def test_function_of_the_serving_role_stays_its_own_when_the_file_runs_again(
    cluster: Postgres,
) -> None:
    with connect(cluster, "documents") as serving:
        serving.execute(
            "CREATE FUNCTION pg_temp.own(sql text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER"
            " AS $$ BEGIN EXECUTE sql; RETURN current_user; END $$"
        )
        assert cluster.is_ready()
        assert serving.execute("SELECT pg_temp.own('SELECT 1')").fetchall() == [("documents",)]


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
