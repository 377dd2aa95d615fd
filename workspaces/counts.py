"""Folds the denormalised document counts, beside the triggers that write them.

The triggers fold what is written often, but never in a transaction that is not READ COMMITTED.
"""

from django.db import connection

MANY = 50  # rows of a workspace; folded, it has at most one for each status

_FOLD = """
    SELECT workspaces_fold_counts(ARRAY(
        SELECT workspace_id FROM workspaces_documentcount GROUP BY workspace_id HAVING count(*) > %s
    ))
"""


def fold() -> None:
    """Folds the rows of each workspace that has many; it waits for no writer, and none for it.

    Raises:
        django.db.Error: the database is out of reach.
    """
    with connection.cursor() as cursor:
        cursor.execute(_FOLD, [MANY])
