"""What verify_audit says of triggers, functions and privileges that do not protect the log."""

import io
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from audit.models import AuditEntry
from audit.sealing import guards
from tests.support import roles
from tests.support.database import execute, grant_privileges


def test_what_migrate_leaves_is_no_problem(db: None) -> None:
    assert guards.problems() == []


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            "ALTER TABLE audit_leaf DISABLE TRIGGER audit_append_only",
            r"switched a trigger off: .* public\.audit_leaf",
        ),
        ("DROP TRIGGER audit_stamp ON audit_auditentry", "lacks a trigger: .* audit_stamp"),
        (
            "CREATE TRIGGER mine BEFORE INSERT ON audit_leaf"
            " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "should not have: CREATE TRIGGER mine ",
        ),
        (
            "CREATE RULE mine AS ON INSERT TO audit_checkpoint DO INSTEAD NOTHING",
            "The table audit_checkpoint has rules or policies",
        ),
        (
            "CREATE OR REPLACE FUNCTION audit_refuse_change() RETURNS trigger"
            " LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END'",
            "The function audit_refuse_change is not the one",
        ),
        (
            "GRANT EXECUTE ON FUNCTION events_changed() TO PUBLIC",
            r"events_changed\(\) runs as its owner, and",
        ),
        (
            "CREATE SCHEMA mine; CREATE FUNCTION mine.stamp() RETURNS trigger LANGUAGE plpgsql"
            " SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NEW; END'",
            r"mine\.stamp\(\) runs as its owner, and",
        ),
        (
            "GRANT UPDATE (person) ON audit_auditentry TO documents",
            "The role documents may do more with audit_auditentry .*: UPDATE",
        ),
        ("GRANT CREATE ON SCHEMA public TO documents", "may create roles, or tables"),
        (
            "ALTER TABLE audit_leaf RENAME TO kept; CREATE VIEW audit_leaf AS SELECT * FROM kept",
            "The table audit_leaf has .* or is a view",
        ),
        (
            "CREATE TYPE pair AS (a text); CREATE FUNCTION made(text) RETURNS pair LANGUAGE sql AS"
            " 'SELECT ROW($1)::pair'; CREATE CAST (text AS pair) WITH FUNCTION made AS IMPLICIT",
            r": cast from text to public\.pair\.",
        ),
        ("CREATE SCHEMA documents_sealer", ": schema documents_sealer"),
    ],
)
def test_each_change_of_the_guards_is_a_problem(db: None, change: str, said: str) -> None:
    execute(change)
    assert re.search(said, "\n".join(guards.problems()))


def test_verify_audit_names_what_does_not_protect_the_log(witness: Path) -> None:
    call_command("seal_audit")
    output = io.StringIO()
    with roles.as_owner():
        execute("GRANT UPDATE ON audit_auditentry TO documents")
    try:
        with pytest.raises(CommandError, match=r"The audit log is damaged\. Problems: 1\."):
            call_command("verify_audit", stdout=output)
    finally:
        grant_privileges()
    assert output.getvalue() == (
        "The role documents may do more with audit_auditentry than `migrate` grants: UPDATE.\n"
    )
    assert AuditEntry.objects.latest("id").action == "audit.verification_failed"
