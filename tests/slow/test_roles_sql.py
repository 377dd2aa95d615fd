"""deploy/roles.sql and deploy/restore run nothing of other roles as superuser or owner."""

import os
import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from config.dev.services import Postgres
from tests.support.server import ROOT

# Runs any statement as the owner of the function, for whoever calls it.
ATTACK = (
    "CREATE FUNCTION {schema}.own(sql text) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS"
    " $$ BEGIN EXECUTE sql; RETURN current_user; END $$"
)
OWNERS = """
    SELECT proname, proowner::regrole::text FROM pg_proc
    WHERE proowner NOT IN (SELECT oid FROM pg_roles WHERE rolsuper)
    UNION SELECT relname, relowner::regrole::text FROM pg_class
    WHERE relowner NOT IN (SELECT oid FROM pg_roles WHERE rolsuper) AND relkind IN ('r', 'S', 'v')
"""
Connection = psycopg.Connection[tuple[str, ...]]


@pytest.fixture
def cluster() -> Iterator[Postgres]:
    """A server of the test's own, on which the file has run once."""
    with tempfile.TemporaryDirectory() as folder:
        postgres = Postgres(Path(folder))
        postgres.prepare()
        postgres.start()
        yield postgres
        postgres.stop()


def connect(cluster: Postgres, role: str) -> Connection:
    url = f"postgresql://{role}:{cluster.passwords[role]}@127.0.0.1:{cluster.port}/documents"
    return psycopg.connect(url, autocommit=True)


def test_function_of_an_open_session_of_the_serving_role_stays_its_own(cluster: Postgres) -> None:
    with connect(cluster, "documents_owner") as owner, connect(cluster, "documents") as attacker:
        owner.execute("CREATE TABLE django_migrations (id int)")
        attacker.execute(ATTACK.format(schema="pg_temp").encode())
        attacker.execute("CREATE TEMPORARY TABLE django_migrations (id int)")
        assert cluster.accepts_connections()  # it runs the file
        ran_as = attacker.execute("SELECT pg_temp.own('SELECT 1')").fetchone()
        assert ran_as == ("documents",)


def test_owner_gets_the_tables_and_triggers_of_a_database_that_had_one_role(
    cluster: Postgres,
) -> None:
    with connect(cluster, "postgres") as superuser:
        superuser.execute("GRANT CREATE ON DATABASE documents TO documents")
        superuser.execute("GRANT CREATE ON SCHEMA public TO documents")
    serving = connect(cluster, "documents")
    for statement in (
        "CREATE TABLE django_migrations (id bigint GENERATED ALWAYS AS IDENTITY, number serial)",
        "CREATE SEQUENCE numbers",
        "CREATE VIEW seen AS SELECT id FROM django_migrations",
        "CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS"
        " 'BEGIN RETURN NEW; END'",
        "CREATE SCHEMA mine",
        *(ATTACK.format(schema=schema) for schema in ("public", "mine", "pg_temp")),
        "CREATE TABLE mine.kept (id int)",
    ):
        serving.execute(statement.encode())
    assert cluster.accepts_connections()
    with pytest.raises(psycopg.OperationalError):
        serving.execute("SELECT 1")
    with connect(cluster, "documents") as serving:
        names = ("django_migrations", "django_migrations_id_seq", "django_migrations_number_seq")
        owned = (*names, "numbers", "seen", "stamp")
        found = set(serving.execute(OWNERS).fetchall())
        assert found == {(name, "documents_owner") for name in owned}
        serving.execute("INSERT INTO django_migrations DEFAULT VALUES")
        serving.execute("CREATE TEMPORARY TABLE copied (id int)")


def test_functions_of_the_owner_are_not_found_by_the_superuser(cluster: Postgres) -> None:
    with connect(cluster, "documents_owner") as owner:
        owner.execute("CREATE TABLE ran (role text)")
        owner.execute("GRANT INSERT ON ran TO PUBLIC")
        owner.execute(
            "CREATE FUNCTION to_regclass(text) RETURNS regclass LANGUAGE sql AS"
            " $$ INSERT INTO public.ran VALUES (current_user); SELECT NULL::regclass $$"
        )
        owner.execute("ALTER DATABASE documents SET search_path = public, pg_catalog")
        assert cluster.accepts_connections()
        assert owner.execute("SELECT role FROM public.ran").fetchall() == []


def test_restored_dump_runs_as_the_owner_and_counts_as_a_backup(
    cluster: Postgres, tmp_path: Path
) -> None:
    with connect(cluster, "documents_owner") as owner:
        owner.execute("CREATE MATERIALIZED VIEW who AS SELECT session_user::text AS role")
        url = owner.info.dsn
    programs = Path(cluster.program("psql")).parent
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    password = cluster.passwords["documents_owner"]
    file = str(tmp_path / "database.dump")
    dump = [str(programs / "pg_dump"), "--format", "custom", url, "--file", file]
    subprocess.run(dump, env={**variables, "PGPASSWORD": password}, check=True)
    (tmp_path / "env").write_text("S3_BUCKET=documents\n")
    address = f"documents_owner:{password}@127.0.0.1:{cluster.port}"
    (tmp_path / "owner-env").write_text(f"DATABASE_OWNER_URL=postgresql://{address}/documents\n")
    text = (ROOT / "deploy" / "restore").read_text().replace("/etc/documents-api", str(tmp_path))
    (tmp_path / "restore").write_text(text)
    for name in ("store", "manage"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path}/called\n')
        (tmp_path / name).chmod(0o755)
    with connect(cluster, "documents_owner") as owner:
        owner.execute("DROP MATERIALIZED VIEW who")
        subprocess.run(["sh", tmp_path / "restore", tmp_path], env=variables, check=True)
        assert owner.execute("SELECT role FROM who").fetchall() == [("documents_owner",)]
    stored, migrated, recorded = (tmp_path / "called").read_text().splitlines()
    assert stored == f"store copy {tmp_path}/files store:documents"
    assert migrated == "manage migrate"
    assert recorded.startswith("manage record_backup restored: that of 20")


@pytest.mark.parametrize("script", ["backup", "install", "roles", "upgrade"])
def test_program_of_the_user_postgres_starts_in_a_folder_that_it_may_enter(script: str) -> None:
    """Not in root's, where it prints that it could not change to it."""
    text = (ROOT / "deploy" / script).read_text().replace("\\\n", "")
    commands = re.findall(r"^.*runuser -u postgres.*$", text, re.MULTILINE)
    assert commands
    assert [line for line in commands if not re.search(r"\benv -C / ", line)] == []
