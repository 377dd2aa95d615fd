"""Checks of a deployment: `manage.py check --deploy`."""

from typing import Any

from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004
from django.db import Error as DatabaseError
from django.db import connection

from audit.models import AuditEntry

# A trigger of its own could change what is inserted.
_MAY_CHANGE = """
    SELECT pg_has_role(relowner, 'MEMBER') OR has_table_privilege(oid, 'DELETE, TRUNCATE, TRIGGER')
        OR has_any_column_privilege(oid, 'UPDATE')
    FROM pg_class WHERE oid = to_regclass(%s)
"""


@register(deploy=True)
def append_only_role(**kwargs: Any) -> list[CheckMessage]:
    """audit.E001: the role of DATABASE_URL could change the audit log; audit.W001: unknown."""
    try:
        with connection.cursor() as cursor:
            cursor.execute(_MAY_CHANGE, [AuditEntry._meta.db_table])
            may_change = cursor.fetchone()
    except DatabaseError:
        may_change = None
    if may_change is None:
        return [
            Warning(
                "Whether the role of DATABASE_URL could change the audit log is unknown.",
                hint="Check again when the database is in reach and `manage.py migrate` has run.",
                id="audit.W001",
            )
        ]
    if may_change == (False,):
        return []
    return [
        Error(
            "The role of DATABASE_URL could change or delete entries of the audit log.",
            hint="Create a role that serves and another one that owns the tables with "
            "deploy/roles.sql, and run `manage.py migrate` with DATABASE_OWNER_URL.",
            id="audit.E001",
        )
    ]
