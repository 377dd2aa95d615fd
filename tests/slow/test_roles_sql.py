"""deploy/roles.sql and deploy/restore run nothing of other roles as superuser or owner."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from config.dev.services import POSTGRES, Postgres
from tests.support.proxy import HOST
from tests.support.server import ROOT

Connection = psycopg.Connection[tuple[Any, ...]]


class Managed(Postgres):
    """As providers have it: nothing of ours is there yet."""

    def is_ready(self) -> bool:
        words = [f"{POSTGRES}/pg_isready", "--quiet", f"--host={HOST}", f"--port={self.port}"]
        return subprocess.run(words).returncode == 0


@pytest.fixture(params=[Postgres])
def cluster(request: pytest.FixtureRequest) -> Iterator[Postgres]:
    """A server of the test's own, on which the file has run once unless it is managed."""
    with tempfile.TemporaryDirectory() as folder:
        postgres: Postgres = request.param(Path(folder))
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


@pytest.mark.parametrize("cluster", [Managed], indirect=True)
def test_role_without_a_superuser_s_rights_makes_roles_that_migrate_and_serve(
    cluster: Postgres,
) -> None:
    """Since PostgreSQL 16 such a role may do less; a drill does it on 15."""

    def run(*words: str | Path, **variables: str) -> str:
        done = subprocess.run(
            words, env=os.environ | variables, cwd=ROOT, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stderr

    provider_url, customer_url = (
        cluster.url(role).removesuffix("documents") + "postgres"
        for role in ("postgres", "customer")
    )
    with psycopg.connect(provider_url, autocommit=True) as provider:
        attributes = f"LOGIN CREATEDB CREATEROLE PASSWORD '{cluster.password}'"
        provider.execute(f"CREATE ROLE customer {attributes}")
        provider.execute("GRANT pg_read_all_stats TO customer")
    names = ("OWNER_PASSWORD", "SERVING_PASSWORD", "SEALER_PASSWORD")
    psql = (POSTGRES / "psql", "-X", "-d", customer_url, "-f", "deploy/roles.sql")
    for _ in range(2):
        warned = run(*psql, **dict.fromkeys(names, cluster.password))
        assert "Not by a superuser" in warned
        assert "Not granted" in warned
    manage = (sys.executable, "manage.py")
    run(*manage, "migrate", "--no-input", DATABASE_URL=cluster.url("documents_owner"))
    acme = ("Acme", "--plan", "PRO", "--admin", "ada@acme.example")
    run(*manage, "create_workspace", *acme, DATABASE_URL=cluster.url("documents"))
    with connect(cluster, "documents_sealer") as sealer:
        assert sealer.execute("SELECT count(*) FROM audit_auditentry").fetchall() != [(0,)]
    with connect(cluster, "documents") as serving:
        owner = "SELECT pg_has_role('customer', 'documents_owner', 'USAGE')"
        assert serving.execute(owner).fetchall() == [(False,)]


def test_restored_dump_runs_as_the_owner_and_counts_as_a_backup(
    cluster: Postgres, tmp_path: Path
) -> None:
    variables = {"PATH": f"{POSTGRES}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    (tmp_path / "env").write_text("S3_BUCKET=documents\n")
    (tmp_path / "owner-env").write_text(f"DATABASE_OWNER_URL={cluster.url('documents_owner')}\n")
    text = (ROOT / "deploy" / "restore").read_text().replace("/etc/documents-api", str(tmp_path))
    (tmp_path / "restore").write_text(text)
    for name in ("store", "manage"):
        (tmp_path / name).write_text(f'#!/bin/sh\necho {name} "$@" >>{tmp_path}/called\n')
        (tmp_path / name).chmod(0o755)
    with connect(cluster, "documents_owner") as owner:
        owner.execute("CREATE MATERIALIZED VIEW who AS SELECT session_user::text AS role")
        owner.execute("GRANT SELECT ON who TO documents")
        url = cluster.url("documents_owner")
        dump = ["pg_dump", "--format=custom", url, f"--file={tmp_path}/database.dump"]
        subprocess.run(dump, env=variables, check=True)
        owner.execute("DROP MATERIALIZED VIEW who")
        subprocess.run(["sh", tmp_path / "restore", tmp_path], env=variables, check=True)
        assert owner.execute("SELECT role FROM who").fetchall() == [("documents_owner",)]
        known = "SELECT attname FROM pg_stats WHERE tablename = 'who'"
        assert owner.execute(known).fetchall() == [("role",)]  # to the planner
        may = "SELECT has_table_privilege('documents', 'who', 'SELECT')"
        assert owner.execute(may).fetchall() == [(True,)]
    stored, migrated, recorded = (tmp_path / "called").read_text().splitlines()
    assert stored == f"store copy {tmp_path}/files store:documents"
    assert migrated == "manage migrate"
    assert recorded.startswith("manage record_backup restored: that of 20")
