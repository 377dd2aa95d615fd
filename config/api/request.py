"""A request to the API: its key, and what its view reads from the database.

A view says what it reads as a `Reading`: parts of a statement. For a client whose last request has
passed all checks, the statement that finds the key (`apikeys.authentication`) reads it too, which
makes `/me` 30 % and a document 15 % quicker. For any other client the key is looked up alone, so a
client over its limit costs no more than that. Nobody is let in by this: each request is checked.
"""

from functools import cache
from typing import NamedTuple
from uuid import UUID

from django.db import Error
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from config.runtime.database import Row, fetch
from config.runtime.hints import Hints

# The Authorization headers whose last request here has passed the checks.
_PASSED: Hints[bool] = Hints()


class ActiveKey(NamedTuple):
    """An active key with its workspace, as authentication found it: `request.auth`."""

    id: UUID
    name: str
    prefix: str
    workspace_id: UUID
    workspace_name: str
    plan: str
    suspended: bool


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


class ApiRequest(Request):
    """DRF's request.

    Attributes:
        auth: the key; set once the request is authenticated.
        together: the view's reading, if the statement that finds the key is to read it; else None.
        found: what that has read, or the error because of which it could not.
        response_headers: headers that the checks add to whatever response follows, errors
            included.
    """

    auth: ActiveKey

    def __init__(
        self,
        request: HttpRequest,
        authenticators: list[BaseAuthentication],
        reading: Reading | None,
    ) -> None:
        super().__init__(request, authenticators=authenticators)
        self.authorization = request.META.get("HTTP_AUTHORIZATION", "")
        self._reading = reading
        self.together = reading if _PASSED.get(self.authorization) else None
        self.found: list[Row] | Error | None = None
        self.response_headers: dict[str, str] = {}

    def note_checks(self, *, passed: bool) -> None:
        """Remembers whether the checks let the request pass, for the client's next one."""
        _PASSED.set(self.authorization, passed or None)

    def rows(self) -> list[Row]:
        """The rows of the view's reading, which are read now unless they were with the key.

        Raises:
            django.db.Error: the database has failed.
        """
        if self._reading is None:
            return []
        rows = self.found
        if isinstance(rows, Error):
            raise rows
        if rows is None:
            rows = read(self._reading, self.auth.workspace_id)
        return [row for row in rows if row[0] is not None]


def read(reading: Reading, workspace_id: UUID) -> list[Row]:
    """The rows of a reading alone.

    Raises:
        django.db.Error: the database has failed.
    """
    columns, joins, order, parameters = reading
    return fetch(_statement(columns, joins, order), (workspace_id, *parameters))


@cache
def _statement(columns: str, joins: str, order: str) -> str:
    return f"""
        SELECT {columns} FROM (SELECT %s::uuid AS id) AS workspace {joins}
        {order and f"ORDER BY {order}"}
    """  # noqa: S608 - made of constants
