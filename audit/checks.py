"""Checks of a deployment: `manage.py check --deploy`."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register  # noqa: A004
from django.core.exceptions import ImproperlyConfigured
from django.db import Error as DatabaseError
from django.db import connection

from audit.models import AuditEntry, Leaf

# A trigger of its own could change what is inserted.
_MAY_CHANGE = """
    SELECT pg_has_role(relowner, 'MEMBER') OR has_table_privilege(oid, 'DELETE, TRUNCATE, TRIGGER')
        OR has_any_column_privilege(oid, 'UPDATE'),
        has_table_privilege(to_regclass(%s), 'INSERT')
    FROM pg_class WHERE oid = to_regclass(%s)
"""


@register(deploy=True)
def append_only_role(**kwargs: Any) -> list[CheckMessage]:
    """What the role of DATABASE_URL may do with the audit log.

    audit.E001: change it.
    audit.W001: unknown.
    audit.W004: add seals, as only `seal_audit` needs it.
    """
    try:
        with connection.cursor() as cursor:
            cursor.execute(_MAY_CHANGE, [Leaf._meta.db_table, AuditEntry._meta.db_table])
            privileges = cursor.fetchone()
    except DatabaseError:
        privileges = None
    if privileges is None:
        return [
            Warning(
                "Whether the role of DATABASE_URL could change the audit log is unknown.",
                hint="Check again when the database is in reach and `manage.py migrate` has run.",
                id="audit.W001",
            )
        ]
    may_change, may_seal = privileges
    if may_change:
        return [
            Error(
                "The role of DATABASE_URL could change or delete entries of the audit log.",
                hint="Create a role that serves and another one that owns the tables with "
                "deploy/roles.sql, and run `manage.py migrate` with DATABASE_OWNER_URL.",
                id="audit.E001",
            )
        ]
    if not may_seal:
        return []
    return [
        Warning(
            "The role of DATABASE_URL may add seals to the audit log.",
            hint="Create the role documents_sealer with deploy/roles.sql, set DATABASE_SEALER_URL "
            "for `seal_audit`, and run `manage.py migrate`.",
            id="audit.W004",
        )
    ]


@register(deploy=True)
def seals(**kwargs: Any) -> list[CheckMessage]:
    """The variables of the seals.

    audit.E002: they are not valid.
    audit.W002: there is no public key, so the log is not sealed, or nobody can verify it.
    audit.W003: no witness is out of the reach of those who administer this machine.
    """
    from audit.sealing import keys, witnesses  # noqa: PLC0415 - few commands need them

    found: list[CheckMessage] = []
    if not settings.AUDIT_PUBLIC_KEYS:
        found.append(
            Warning(
                "AUDIT_PUBLIC_KEYS is not set: nobody can verify the audit log.",
                hint="Make a key with `manage.py make_audit_key NAME`, and run `seal_audit`.",
                id="audit.W002",
            )
        )
    try:
        if settings.AUDIT_PUBLIC_KEYS:
            keys.public_keys()
        witnesses.witnesses(settings.AUDIT_WITNESSES)
    except ImproperlyConfigured as exc:
        found.append(
            Error(str(exc), hint="docs/reference.md says what belongs there.", id="audit.E002")
        )
    if "bucket" not in settings.AUDIT_WITNESSES:
        found.append(
            Warning(
                "AUDIT_WITNESSES has no `bucket`: who administers this machine can change the "
                "audit log and its checkpoints together.",
                hint="Add `bucket`, with AUDIT_WITNESS_BUCKET in which objects are locked.",
                id="audit.W003",
            )
        )
    return found
