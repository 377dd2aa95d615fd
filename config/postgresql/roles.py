"""The two database roles: one owns the tables and migrates them, the other one serves.

The role of DATABASE_URL serves. It may do with each table what the model's PRIVILEGES say, and
nothing with tables that are no model's. DATABASE_OWNER_URL is the same database, as its owner:
`migrate` needs it, and a server must not have it. `deploy/roles.sql` creates both roles.
"""

import contextlib
from collections.abc import Iterator

from django.apps import apps
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg import sql

PRIVILEGES = "SELECT, INSERT, UPDATE, DELETE"  # of a model that does not say otherwise


@contextlib.contextmanager
def as_owner() -> Iterator[None]:
    """This thread's connection belongs to the owner meanwhile; not within a transaction.

    Without DATABASE_OWNER_URL, the role of DATABASE_URL has to be the owner.
    """
    before = connection.settings_dict
    connection.close()
    connection.settings_dict = {**before, **settings.DATABASE_OWNER}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = before


def grant_privileges() -> None:
    """Gives the serving role its privileges on the tables that exist, and takes any others away.

    Raises:
        django.db.Error: this connection's role does not own the tables.
    """
    role = settings.DATABASES[DEFAULT_DB_ALIAS]["USER"]
    if role == connection.settings_dict["USER"]:
        return  # an installation with one role
    privileges = {
        model._meta.db_table: getattr(model, "PRIVILEGES", PRIVILEGES)
        for model in apps.get_models(include_auto_created=True)
    }
    privileges[MigrationRecorder(connection).Migration._meta.db_table] = "SELECT"
    with transaction.atomic(), connection.cursor() as cursor:
        for table in sorted(privileges.keys() & connection.introspection.table_names(cursor)):
            for statement in (
                "REVOKE ALL ON {table} FROM {role}",
                f"GRANT {privileges[table]} ON {{table}} TO {{role}}",
            ):
                names = {"table": sql.Identifier(table), "role": sql.Identifier(role)}
                cursor.execute(sql.SQL(statement).format(**names))
