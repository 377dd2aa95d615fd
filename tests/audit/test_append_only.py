"""The database refuses to change the audit log, and sets each entry's id and time itself.

`test_roles.py` has what the privileges of the role that serves refuse, `test_guards.py` that the
triggers are always on; here is what they refuse.
"""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.apps import apps
from django.db import IntegrityError
from django.utils import timezone

from audit.models import AuditEntry
from tests.support import roles
from tests.support.database import execute, grant_privileges
from tests.support.factories import Tenant, at

REFUSED = "is refused: rows are only added"
# A column of each table of the audit log.
COLUMNS = {
    "audit_auditentry": "key_name",
    "audit_leaf": "hash",
    "audit_subtree": "hash",
    "audit_checkpoint": "note",
}
CHANGES = [
    "UPDATE {table} SET {column} = {column}",
    "UPDATE {table} SET {column} = {column} WHERE false",
    "DELETE FROM {table}",
    "TRUNCATE {table}",
    "INSERT INTO {table} SELECT * FROM {table} ON CONFLICT ON CONSTRAINT {table}_pkey"
    " DO UPDATE SET {column} = EXCLUDED.{column}",
    "MERGE INTO {table} AS old USING {table} AS new ON old.ctid = new.ctid"
    " WHEN MATCHED THEN UPDATE SET {column} = old.{column}",
    "MERGE INTO {table} AS old USING {table} AS new ON old.ctid = new.ctid"
    " WHEN MATCHED THEN DELETE",
    "WITH gone AS (DELETE FROM {table} RETURNING 1) SELECT count(*) FROM gone",
]


@pytest.fixture
def with_every_privilege(acme: Tenant, transactional_db: None) -> Iterator[None]:
    """The role that serves does not own the tables, but may do everything else with them."""
    with roles.as_owner():
        execute(*(f"GRANT ALL ON {table} TO documents" for table in COLUMNS))
    yield
    grant_privileges()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("who", ["with_every_privilege", "as_owner"])
def test_nobody_changes_the_audit_log(request: pytest.FixtureRequest, who: str) -> None:
    """Neither a role with every privilege nor the owner."""
    request.getfixturevalue(who)
    request.getfixturevalue("acme")
    models = apps.get_app_config("audit").get_models()
    assert {model._meta.db_table for model in models} == set(COLUMNS)
    entries = list(AuditEntry.objects.values())
    for table, column in COLUMNS.items():
        for change in CHANGES:
            with pytest.raises(IntegrityError, match=REFUSED):
                execute(change.format(table=table, column=column))
    assert list(AuditEntry.objects.values()) == entries


OWN_TIME = (
    "INSERT INTO audit_auditentry SELECT (jsonb_populate_record(entry, "
    '\'{"id": 1000000, "created_at": "2020-01-01"}\')).* FROM audit_auditentry AS entry'
)
COPIED = (
    "WITH added AS (INSERT INTO audit_auditentry SELECT * FROM audit_auditentry RETURNING id)"
    " SELECT * FROM added"
)


@pytest.mark.parametrize("statement", [OWN_TIME, COPIED])
@pytest.mark.parametrize("who", ["db", "as_owner"])
def test_database_sets_the_id_and_the_time_of_an_entry(
    request: pytest.FixtureRequest, who: str, statement: str
) -> None:
    request.getfixturevalue(who)
    request.getfixturevalue("acme")
    last = AuditEntry.objects.latest("id").pk
    execute(statement)
    added = AuditEntry.objects.exclude(pk__lte=last).get()
    assert last < added.pk < last + 100
    assert timezone.now() - added.created_at < timedelta(minutes=1)


def test_database_sets_the_time_of_the_entry_not_its_transaction(acme: Tenant) -> None:
    first, second = (
        AuditEntry.objects.create(action="login.succeeded", created_at=at("2020-01-01 00:00:00"))
        for _ in range(2)
    )
    assert first.created_at < second.created_at
    assert first.pk < second.pk
