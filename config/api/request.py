"""A request to the API, with the key that it was made with."""

from datetime import datetime
from functools import cache
from typing import NamedTuple
from uuid import UUID

from django.db import Error
from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from config.runtime.database import Row, fetch


class ActiveKey(NamedTuple):
    """An active key with its workspace, as authentication found it: `request.auth`."""

    id: UUID
    name: str
    prefix: str
    last_used_at: datetime | None
    workspace_id: UUID
    workspace_name: str
    plan: str
    suspended: bool


class Reading(NamedTuple):
    """What a view reads from the database, as parts of a statement.

    The statement that finds the key can read it too, which saves a wait for the database.

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

    def alone(self, workspace_id: UUID) -> tuple[str, tuple[object, ...]]:
        """The statement that reads it by itself."""
        values = (workspace_id, *self.parameters)
        return _alone(self.columns, self.joins, self.order), values


@cache
def _alone(columns: str, joins: str, order: str) -> str:
    return f"""
        SELECT {columns} FROM (SELECT %s::uuid AS id) AS workspace {joins}
        {order and f"ORDER BY {order}"}
    """  # noqa: S608 - made of constants


class ApiRequest(Request):
    """DRF's request.

    Attributes:
        auth: the key; set once the request is authenticated.
        reading: what its view reads; None if that is nothing, or not a `Reading`.
        with_key: whether the statement that finds the key reads it.
        found_with_key: what that has read, or why it could not.
        response_headers: headers that the checks add to whatever response follows, errors
            included.
    """

    auth: ActiveKey

    def __init__(
        self,
        request: HttpRequest,
        authenticators: list[BaseAuthentication] | None = None,
        reading: Reading | None = None,
        *,
        with_key: bool = False,
    ) -> None:
        super().__init__(request, authenticators=authenticators)
        self.reading = reading
        self.with_key = with_key
        self.found_with_key: list[Row] | Error | None = None
        self.response_headers: dict[str, str] = {}

    def rows(self) -> list[Row]:
        """The rows of the reading, which is read now unless it was with the key.

        Raises:
            django.db.Error: the database has failed.
        """
        if self.reading is None:
            return []
        rows = self.found_with_key
        if isinstance(rows, Error):
            raise rows
        if rows is None:
            rows = fetch(*self.reading.alone(self.auth.workspace_id))
        return [row for row in rows if row[0] is not None]
