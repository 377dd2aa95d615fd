"""The data of a leaf: an entry as canonical JSON (RFC 8785), written by the database.

The members are the columns in alphabetical order, without those that are empty: so a column that
a later release adds does not change the data of older entries. Times have microseconds and a Z.
Anybody can write the same bytes again from a readable copy of the entry.
"""

from django.db import models

from audit.models import AuditEntry

_TIME = """to_char({column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')"""


def _member(field: "models.Field[object, object]", first: bool) -> str:
    """SQL for one member; NULL if it is empty."""
    column = f"entry.{field.column}"
    name = f"""'{"{" if first else ","}"{field.column}":"""
    match field:
        case models.DateTimeField():
            return f"""{name}"' || {_TIME.format(column=column)} || '"'"""
        case models.UUIDField():
            return f"""{name}"' || {column} || '"'"""
        case models.CharField():
            return f"{name}' || to_json(nullif({column}, ''))"
        case models.BigIntegerField() | models.AutoField():
            return f"{name}' || {column}"
    raise TypeError(f"no canonical form of {field}")


def _data() -> str:
    fields = sorted(AuditEntry._meta.concrete_fields, key=lambda field: str(field.column))
    members = [_member(field, first=not number) for number, field in enumerate(fields)]
    return f"concat({', '.join(members)}, '}}')"


# SQL for the data of the leaf of `audit_auditentry AS entry`; the first column is never empty.
DATA = _data()
