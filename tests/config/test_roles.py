"""The role that serves may do what it needs, and cannot change the audit log."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.apps import apps
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError, connection

from audit.checks import append_only_role
from audit.models import AuditEntry
from config.runtime.postgresql import roles
from tests.support import seals
from tests.support.database import execute, new_database
from tests.support.factories import Tenant
from tests.support.server import ROOT
from workspaces.models import Workspace

pytestmark = pytest.mark.service


CHANGES = [
    "UPDATE audit_auditentry SET key_name = 'Another'",
    "DELETE FROM audit_auditentry",
    "TRUNCATE audit_auditentry, audit_leaf, audit_subtree, audit_checkpoint",
    "DELETE FROM audit_leaf",
    "INSERT INTO audit_leaf VALUES (1000, 1000, '')",
    "INSERT INTO audit_subtree VALUES (1, 0, '')",
    "INSERT INTO audit_checkpoint VALUES (4e18, now(), 'x', 4e18, 4e18, 0)",
    "UPDATE audit_checkpoint SET note = ''",
    "INSERT INTO audit_auditentry SELECT * FROM audit_auditentry "
    "ON CONFLICT (id) DO UPDATE SET key_name = 'Another'",
    "MERGE INTO audit_auditentry AS old USING audit_auditentry AS new ON old.id = new.id "
    "WHEN MATCHED THEN DELETE",
    "SELECT * FROM audit_auditentry FOR UPDATE",
    "LOCK TABLE audit_auditentry IN EXCLUSIVE MODE",
    "TRUNCATE audit_auditentry",
    "DROP TABLE audit_auditentry",
    "ALTER TABLE audit_auditentry DISABLE TRIGGER USER",
    "ALTER TABLE audit_auditentry RENAME TO elsewhere",
    "DROP TRIGGER audit_append_only ON audit_auditentry",
    "DROP TRIGGER audit_stamp ON audit_auditentry",
    "CREATE TRIGGER mine BEFORE INSERT ON audit_auditentry"
    " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
    "CREATE OR REPLACE FUNCTION audit_refuse_change() RETURNS TRIGGER"
    " LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
    "SET ROLE documents_owner",
    "SET session_replication_role = replica",
]


def test_serving_role_cannot_change_the_audit_log(acme: Tenant) -> None:
    before = list(AuditEntry.objects.values())
    for statement in CHANGES:
        with pytest.raises(DatabaseError, match="permission denied|must be owner"):
            execute(statement)
    assert list(AuditEntry.objects.values()) == before


def test_serving_role_cannot_give_itself_privileges(db: None) -> None:
    before = privileges()
    execute("GRANT ALL ON audit_auditentry TO documents")  # PostgreSQL only warns
    execute("GRANT ALL ON audit_auditentry TO PUBLIC")
    assert privileges() == before
    assert append_only_role() == []


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (id bigint)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "TRUNCATE workspaces_workspace CASCADE",
        "DELETE FROM django_migrations",
        "CREATE DATABASE mine",
        "CREATE ROLE mine",
    ],
)
def test_serving_role_cannot_change_the_database(transactional_db: None, statement: str) -> None:
    with (
        pytest.raises(DatabaseError, match="permission denied"),
        connection.cursor() as cursor,
    ):
        cursor.execute(statement)


def privileges() -> dict[str, set[str]]:
    """What the serving role may do, by table."""
    found: dict[str, set[str]] = {}
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT table_name::text, privilege_type::text FROM information_schema.table_privileges"
            " WHERE grantee = %s",
            [settings.DATABASES["default"]["USER"]],
        )
        for table, privilege in cursor.fetchall():
            found.setdefault(table, set()).add(privilege)
    return found


def test_each_role_has_the_privileges_that_are_declared_and_no_others(db: None) -> None:
    declared = roles.declared()
    assert set(declared) == {"documents", "documents_sealer"}
    for role, by_table in declared.items():
        assert roles.granted(role) == by_table
    assert privileges() == declared["documents"]
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    everything = {"SELECT", "INSERT", "UPDATE", "DELETE"}
    less = {table: words for table, words in privileges().items() if words != everything}
    assert (less.keys() | declared["documents"].keys()) - {"django_migrations"} <= tables
    assert less == {
        "audit_auditentry": {"SELECT", "INSERT"},
        "audit_checkpoint": {"SELECT"},
        "audit_leaf": {"SELECT"},
        "audit_subtree": {"SELECT"},
        "auth_group": {"SELECT"},
        "auth_group_permissions": {"SELECT"},
        "auth_permission": {"SELECT"},
        "auth_user": {"SELECT", "INSERT", "UPDATE"},
        "auth_user_groups": {"SELECT", "INSERT", "DELETE"},
        "auth_user_user_permissions": {"SELECT"},
        "django_admin_log": {"SELECT"},
        "django_content_type": {"SELECT"},
        "django_migrations": {"SELECT"},
        # Triggers and `restart_events` write these, as the owner.
        "events_event": {"SELECT", "DELETE"},
        "events_generation": {"SELECT"},
        "otp_static_statictoken": {"SELECT", "INSERT", "DELETE"},
        "webhooks_attempt": {"SELECT", "INSERT", "DELETE"},
        "webhooks_endpoint": {"SELECT", "INSERT", "UPDATE"},
        "workspaces_invitation": {"SELECT", "INSERT", "UPDATE"},
        "workspaces_workspace": {"SELECT", "INSERT", "UPDATE"},
    }
    assert declared["documents_sealer"] == {
        table: {"SELECT", "INSERT"}
        for table in ("audit_auditentry", "audit_checkpoint", "audit_leaf", "audit_subtree")
    }


def test_without_a_sealer_the_serving_role_seals(transactional_db: None) -> None:
    """As in an installation whose database was made by a release before."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roles, "SEALER", "nobody_has_made_it")
        patch.setattr(settings, "DATABASE_SEALER_URL", "")
        with roles.as_owner():
            roles.grant_privileges()
        seals.written()
        assert seals.seal() == 1
        assert [found.id for found in append_only_role()] == ["audit.W004"]
    with roles.as_owner():
        roles.grant_privileges()
    assert append_only_role() == []


@pytest.mark.parametrize("database", ["postgres", "template1"])
@pytest.mark.parametrize("variable", ["DATABASE_URL", "DATABASE_SEALER_URL"])
def test_roles_cannot_connect_to_other_databases(database: str, variable: str) -> None:
    url = urlsplit(os.environ[variable])._replace(path=f"/{database}").geturl()
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(url)


@pytest.mark.usefixtures("as_owner")
def test_migrate_grants_what_is_missing_and_revokes_what_is_too_much(db: None) -> None:
    before = privileges()
    execute(
        "GRANT UPDATE, TRUNCATE ON audit_auditentry TO documents",
        "REVOKE ALL ON workspaces_workspace FROM documents",
    )
    assert privileges() != before
    roles.grant_privileges()
    assert privileges() == before


def test_migrate_runs_as_the_owner_whoever_calls_it(transactional_db: None) -> None:
    call_command("migrate", verbosity=0)
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_user")
        assert cursor.fetchone() == ("documents",)
    assert Workspace.objects.count() == 0


@pytest.fixture
def empty() -> Iterator[str]:
    """The name of a database without tables, which belongs to the owner."""
    with new_database("empty") as name:
        yield name


def command(database: str, *words: str, owner: bool, **variables: str) -> dict[str, Any]:
    """manage.py on a database of the tests' server, as arguments of `subprocess.run`."""
    urls = ("DATABASE_URL", "DATABASE_OWNER_URL")
    on_database = {
        name: urlsplit(os.environ[name])._replace(path=f"/{database}").geturl() for name in urls
    }
    environment = {**os.environ, **on_database, **variables}
    if not owner:
        del environment["DATABASE_OWNER_URL"]
    return {
        "args": [sys.executable, "manage.py", *words],
        "cwd": ROOT,
        "env": environment,
        "stdin": subprocess.DEVNULL,
        "text": True,
    }


def manage(*words: str, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Runs manage.py; see `command`."""
    return subprocess.run(**command(*words, **options), capture_output=True)


def test_migrate_without_the_owner_says_what_to_set(empty: str) -> None:
    done = manage(empty, "migrate", owner=False)
    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert "permission denied for schema public" in line
    assert "set DATABASE_OWNER_URL" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["create_workspace", "Acme", "--plan", "PRO", "--admin", "ada@acme.example"],
        ["issue_key", "8a1c3f60-0000-4000-8000-000000000001", "Sync", "--by", "ada@acme.example"],
        ["import_documents", "8a1c3f60-0000-4000-8000-000000000001", "documents.jsonl"],
        ["check_document_counts"],
        ["check_files"],
        ["changepassword", "ada@acme.example"],
        ["createsuperuser", "--noinput"],
    ],
    ids=lambda words: words[0],
)
def test_command_before_migrate_says_so_in_one_line(empty: str, words: list[str]) -> None:
    done = manage(empty, *words, owner=False)
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    assert line.startswith("The database lacks the migration ")
    assert line.endswith(" more. Run: python manage.py migrate")


@pytest.mark.usefixtures("as_owner")
def test_deploy_check_refuses_the_owner_of_the_audit_log(db: None) -> None:
    [found] = append_only_role()
    assert found.id == "audit.E001"
    assert "deploy/roles.sql" in str(found.hint)


@pytest.mark.parametrize("privilege", ["UPDATE", "UPDATE (address)", "DELETE", "TRUNCATE"])
def test_deploy_check_refuses_each_privilege_that_is_too_much(
    transactional_db: None, privilege: str
) -> None:
    with roles.as_owner():
        execute(f"GRANT {privilege} ON audit_auditentry TO documents")
    try:
        assert [found.id for found in append_only_role()] == ["audit.E001"]
    finally:
        with roles.as_owner():
            execute(f"REVOKE {privilege} ON audit_auditentry FROM documents")
            roles.grant_privileges()
    assert append_only_role() == []


@pytest.mark.slow
def test_deploy_check_of_a_database_without_tables_says_that_it_knows_nothing(empty: str) -> None:
    done = manage(empty, "check", "--deploy", owner=False)
    assert "(audit.W001)" in done.stderr


@pytest.mark.slow
def test_deploy_check_runs_with_the_others(transactional_db: None) -> None:
    database = settings.DATABASES["default"]["NAME"]
    variables = {**seals.VARIABLES, "AUDIT_WITNESSES": "bucket", "AUDIT_WITNESS_BUCKET": "witness"}
    done = manage(database, "check", "--deploy", owner=False, **variables)
    assert "audit." not in done.stderr


def test_migrate_is_recorded_if_it_has_changed_something(transactional_db: None) -> None:
    recorded = AuditEntry.objects.filter(action="command.run").values_list("detail", flat=True)
    call_command("migrate", verbosity=0)
    assert list(recorded) == []
    for target in ("0002", "0003"):
        call_command("migrate", "admin", target, fake=True, verbosity=0)
    assert list(recorded.all()) == ["Migrations: admin.0003_logentry_add_action_flag_choices"] * 2


@pytest.mark.usefixtures("as_owner")
def test_migrate_with_one_role_grants_nothing(transactional_db: None) -> None:
    before = roles.granted("documents")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "DATABASE_OWNER_URL", "")
        patch.setitem(settings.DATABASES["default"], "USER", "documents_owner")
        call_command("migrate", verbosity=0)
    assert roles.granted("documents") == before


def test_migrate_as_another_role_than_the_owner_says_what_to_set(transactional_db: None) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(settings, "DATABASE_OWNER_URL", "")
        with pytest.raises(CommandError, match="DATABASE_OWNER_URL"):
            call_command("migrate", "audit", "zero", verbosity=0)
