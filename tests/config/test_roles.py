"""The role that serves may do what it needs, and cannot change the audit log."""

import os
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from django.apps import apps
from django.db import DatabaseError, connection

from audit.models import AuditEntry
from audit.monitoring import audit_log
from tests.support.database import PRIVILEGES, execute, privileges
from tests.support.factories import Tenant

CHANGES = [
    "UPDATE audit_auditentry SET key_name = 'Another'",
    "TRUNCATE audit_auditentry, audit_leaf, audit_subtree, audit_checkpoint",
    "INSERT INTO audit_checkpoint VALUES (4e18, now(), 'x')",
    "INSERT INTO audit_auditentry SELECT * FROM audit_auditentry "
    "ON CONFLICT (id) DO UPDATE SET key_name = 'Another'",
    "MERGE INTO audit_auditentry AS old USING audit_auditentry AS new ON old.id = new.id "
    "WHEN MATCHED THEN DELETE",
    "SELECT * FROM audit_auditentry FOR UPDATE",
    "LOCK TABLE audit_auditentry IN EXCLUSIVE MODE",
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
    before = privileges("documents")
    execute("GRANT ALL ON audit_auditentry TO documents")  # PostgreSQL only warns
    execute("GRANT ALL ON audit_auditentry TO PUBLIC")
    assert privileges("documents") == before


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE TABLE mine (id bigint)",
        "CREATE TEMPORARY TABLE mine (id bigint)",
        "CREATE FUNCTION mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE FUNCTION pg_temp.mine() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "CREATE SCHEMA mine",
        "TRUNCATE workspaces_workspace CASCADE",
        "DELETE FROM django_migrations",
        "CREATE DATABASE mine",
        "CREATE ROLE mine",
    ],
)
def test_serving_role_cannot_change_the_database(transactional_db: None, statement: str) -> None:
    with pytest.raises(DatabaseError, match="permission denied"), connection.cursor() as cursor:
        cursor.execute(statement)


# What the role that serves may not do with each table; without a line, it may change all rows.
LESS = {
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


def test_each_role_has_the_privileges_of_the_spec_and_no_others(db: None) -> None:
    everything = {"SELECT", "INSERT", "UPDATE", "DELETE"}
    tables = {model._meta.db_table for model in apps.get_models(include_auto_created=True)}
    expected = {table: LESS.get(table, everything) for table in {*tables, "django_migrations"}}
    assert privileges("documents") == expected
    assert privileges("documents_sealer") == {
        table: {"SELECT", "INSERT"}
        for table in ("audit_auditentry", "audit_checkpoint", "audit_leaf", "audit_subtree")
    }


@pytest.mark.usefixtures("as_owner")
def test_table_of_a_later_migration_may_be_changed_by_the_serving_role(db: None) -> None:
    execute("CREATE TABLE later (id bigint GENERATED ALWAYS AS IDENTITY)")
    assert privileges("documents")["later"] == {"SELECT", "INSERT", "UPDATE", "DELETE"}


@pytest.mark.parametrize("database", ["postgres", "template1"])
@pytest.mark.parametrize("variable", ["DATABASE_URL", "DATABASE_SEALER_URL"])
def test_roles_cannot_connect_to_other_databases(database: str, variable: str) -> None:
    url = urlsplit(os.environ[variable])._replace(path=f"/{database}").geturl()
    with pytest.raises(psycopg.OperationalError, match="permission denied for database"):
        psycopg.connect(url)


@pytest.mark.usefixtures("as_owner")
def test_privileges_can_be_granted_again(db: None) -> None:
    before = privileges("documents")
    execute(
        "GRANT UPDATE ON audit_auditentry TO documents",
        "REVOKE ALL ON workspaces_workspace FROM documents",
    )
    assert privileges("documents") != before
    execute(PRIVILEGES)
    assert privileges("documents") == before


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize("privilege", ["UPDATE (address)", "TRUNCATE"])
def test_check_refuses_each_privilege_that_is_too_much(db: None, privilege: str) -> None:
    assert "audit.E001" not in [found.id for found in audit_log(databases=["default"])]
    execute(f"GRANT {privilege} ON audit_auditentry TO documents")
    assert "audit.E001" in [found.id for found in audit_log(databases=["default"])]


@pytest.mark.usefixtures("as_owner")
def test_check_refuses_the_owner_of_the_audit_log(db: None, settings: Any) -> None:
    settings.DATABASES["default"]["USER"] = "documents_owner"
    try:
        found = audit_log(databases=["default"])[0]
    finally:
        settings.DATABASES["default"]["USER"] = "documents"
    assert (found.id, "owns the tables" in found.msg) == ("audit.E001", True)
