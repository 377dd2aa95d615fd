"""Building indexes of large tables while they are in use."""

from typing import Any

from django.contrib.postgres.operations import AddIndexConcurrently


class BuildIndex(AddIndexConcurrently):
    """Builds an index without blocking writers; can be repeated.

    A migration without a transaction that fails keeps what it has done so far. If it runs again,
    an index that it has built, or has left unfinished, is dropped and built anew.
    """

    def database_forwards(
        self, app_label: str, schema_editor: Any, from_state: Any, to_state: Any
    ) -> None:
        name = schema_editor.quote_name(self.index.name)
        schema_editor.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name}")
        super().database_forwards(app_label, schema_editor, from_state, to_state)
