"""Bearer authentication with a workspace key: every failure is the same 401."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apikeys import keys
from config.api.errors import InvalidKey
from config.api.request import ActiveKey
from config.database import fetch
from config.key_format import PREFIX
from config.request_context import note

_ACTIVE = """
    SELECT key.id, key.name, key.prefix, key.last_used_at,
        workspace.id, workspace.name, workspace.plan, workspace.suspended
    FROM "apikeys_apikey" AS key
    JOIN "workspaces_workspace" AS workspace ON workspace.id = key.workspace_id
    WHERE key.digest = %s AND key.revoked_at IS NULL
"""


# Several threads may find that it is due; only one of them writes it.
_USED = """
    UPDATE "apikeys_apikey" SET last_used_at = %s
    WHERE id = %s AND (last_used_at IS NULL OR last_used_at <= %s)
"""
LAST_USED_EVERY = timedelta(minutes=1)  # writing it on every request costs a fifth of throughput

MALFORMED = f"the Authorization header is not of the form Bearer {PREFIX}…"


class BearerKeyAuthentication(BaseAuthentication):
    """Finds the key in the Authorization header; `request.auth` is an `ActiveKey`.

    Nothing is cached: the next request after a key is revoked or deleted is refused.
    """

    def authenticate(self, request: Request) -> tuple[None, ActiveKey]:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        raw = keys.from_header(header)
        if raw is None:
            raise InvalidKey(MALFORMED if header else "no Authorization header")
        note(key_prefix=keys.loggable(raw))
        key = find_active(raw)
        if key is None:
            raise InvalidKey("unknown, revoked or deleted key")
        note(workspace_id=str(key.workspace_id))
        note_use(key.id, key.last_used_at, timezone.now())
        return None, key


def find_active(raw: str) -> ActiveKey | None:
    """The active key with its workspace, in one query; None if there is none.

    This is the first query of a request, so it may meet a connection that died while it was idle.
    It is retried once on a new connection.
    """
    parameters = (keys.digest(raw),)
    try:
        rows = fetch(_ACTIVE, parameters)
    except (OperationalError, InterfaceError):
        connection.close()
        rows = fetch(_ACTIVE, parameters)
    return ActiveKey._make(rows[0]) if rows else None


def note_use(id: UUID, last_used_at: datetime | None, now: datetime) -> None:
    """Updates a key's `last_used_at`, at most once a minute."""
    due = now - LAST_USED_EVERY
    if last_used_at is None or last_used_at <= due:
        fetch(_USED, (now, id, due))
