"""What a view reads from the database, together with the key where that saves a wait.

A view says what it reads as a `Reading`: parts of a statement. For a client whose last request has
passed all checks, the statement that finds the key (`apikeys.authentication`) reads it too, which
makes `/me` 30 % and a document 15 % quicker. For any other client the key is looked up alone, so a
client over its limit costs no more than that. Nobody is let in by this: each request is checked.
"""

from functools import cache
from typing import NamedTuple
from uuid import UUID

from django.db import Error

from config.runtime.database import Row, fetch
from config.runtime.hints import Hints

# The Authorization headers whose last request here has passed the checks.
_PASSED: Hints[bool] = Hints()


class Reading(NamedTuple):
    """What a view reads from the database, as parts of a statement.

    Attributes:
        columns: what it reads; the first one is NULL where nothing was found.
        joins: the tables, joined to `workspace`, which is the key's.
        order: of the rows, "" for none.
        parameters: the values for `joins`.
    """

    columns: str
    joins: str
    order: str = ""
    parameters: tuple[object, ...] = ()


class Reader:
    """Reads the rows of a request's reading, once.

    Attributes:
        together: the reading, if the statement that finds the key is to read it; else None.
        found: what that has read, or the error because of which it could not.
    """

    def __init__(self, reading: Reading | None, header: str) -> None:
        self._reading = reading
        self._header = header
        self.together = reading if _PASSED.get(header) else None
        self.found: list[Row] | Error | None = None

    def rows(self, workspace_id: UUID) -> list[Row]:
        """The rows, which are read now unless they were with the key.

        Raises:
            django.db.Error: the database has failed.
        """
        if self._reading is None:
            return []
        rows = self.found
        if isinstance(rows, Error):
            raise rows
        if rows is None:
            columns, joins, order, parameters = self._reading
            rows = fetch(_alone(columns, joins, order), (workspace_id, *parameters))
        return [row for row in rows if row[0] is not None]

    def passed(self) -> None:
        """The request has passed the checks."""
        _PASSED.set(self._header, True)

    def refused(self) -> None:
        """A check has refused the request."""
        _PASSED.set(self._header, None)


@cache
def _alone(columns: str, joins: str, order: str) -> str:
    return f"""
        SELECT {columns} FROM (SELECT %s::uuid AS id) AS workspace {joins}
        {order and f"ORDER BY {order}"}
    """  # noqa: S608 - made of constants
