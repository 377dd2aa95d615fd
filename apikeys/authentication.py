"""Bearer authentication with a workspace key: every failure is the same 401."""

import re
from functools import cache

from django.db import Error, connection
from rest_framework.authentication import BaseAuthentication

from apikeys import keys
from apikeys.states import IS_ACTIVE
from config.api.errors import InvalidKey
from config.api.request import ActiveKey, ApiRequest, Reading
from config.runtime.database import UNAVAILABLE, Row, fetch
from config.runtime.key_format import PREFIX
from config.runtime.request_context import current_notes, note
from config.runtime.slots import TENANTS

_COLUMNS = len(ActiveKey._fields)

_BEARER = re.compile(rf"(?i:Bearer) +({PREFIX}[\x21-\x7e]+)")
MALFORMED = f"the Authorization header is not of the form Bearer {PREFIX}…"


def from_header(value: str) -> str | None:
    """The raw key in an Authorization header `Bearer dtd_…`; None for any other form.

    The scheme is case-insensitive (RFC 9110, section 11.1), the key is not.
    """
    match = _BEARER.fullmatch(value)
    return match and match[1]


class BearerKeyAuthentication(BaseAuthentication):
    """Finds the key in the Authorization header; `request.auth` is an `ActiveKey`.

    Nothing is cached: the next request after a key is revoked, expires or is deleted is refused.
    """

    def authenticate(self, request: ApiRequest) -> tuple[None, ActiveKey]:  # type: ignore[override]
        header = request.authorization
        raw = from_header(header)
        if raw is None:
            raise InvalidKey(MALFORMED if header else "no Authorization header")
        note(key_prefix=keys.loggable(raw))
        rows = _find(raw, request)
        if not rows:
            raise InvalidKey("unknown, revoked, expired or deleted key")
        key = ActiveKey._make(rows[0][:_COLUMNS])
        TENANTS.set(header, key.workspace_id)
        note(workspace_id=str(key.workspace_id))
        current_notes().key = key
        return None, key


def _find(raw: str, request: ApiRequest) -> list[Row]:
    """The rows of the key; with them, if the request wants it, what its view reads.

    If that cannot be read, as from a table that is locked, the key is still checked and counted.
    """
    if request.together is None:
        return find_active(raw)
    try:
        rows = find_active(raw, request.together)
    except Error as exc:
        if connection.connection is None or connection.connection.closed:
            raise  # nothing can be read
        request.found = exc
        return find_active(raw)
    request.found = [row[_COLUMNS:] for row in rows]
    return rows


def find_active(raw: str, reading: Reading | None = None) -> list[Row]:
    """The columns of the active key with its workspace, and in each row then those of a reading.

    This is the first query of a request, so it may meet a connection that died while it was idle.
    It is retried once on a new connection.

    Returns:
        Nothing if there is no such key, at least one row otherwise.
    """
    columns, joins, order, parameters = reading or _NOTHING
    statement = _active(columns, joins, order), (*parameters, keys.digest(raw))
    try:
        return fetch(*statement)
    except UNAVAILABLE:
        if connection.connection is None or not connection.connection.closed:
            raise  # it could not connect, or the connection works
        connection.close()
        return fetch(*statement)


_NOTHING = Reading("", "")


@cache
def _active(columns: str, joins: str, order: str) -> str:
    return f"""
        SELECT key.id, key.name, key.prefix,
            workspace.id, workspace.name, workspace.plan, workspace.suspended
            {columns and f", {columns}"}
        FROM "apikeys_apikey" AS key
        JOIN "workspaces_workspace" AS workspace ON workspace.id = key.workspace_id
        {joins}
        WHERE key.digest = %s AND {IS_ACTIVE}
        {order and f"ORDER BY {order}"}
    """  # noqa: S608 - made of constants
