"""Bearer authentication with a workspace key: every failure is the same 401."""

import re

from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apikeys import keys
from apikeys.keys import IS_ACTIVE
from config.api.active_key import ActiveKey
from config.api.errors import InvalidKey
from config.connections import fetch_with_retry
from config.request.context import Notes
from config.request.redaction import PREFIX

# The scheme is case-insensitive (RFC 9110, section 11.1), the key is not.
_BEARER = re.compile(rf"(?i:Bearer) +({PREFIX}[\x21-\x7e]+)")
MALFORMED = f"the Authorization header is not of the form Bearer {PREFIX}…"
NO_KEY = f"a key is {PREFIX} and {keys.SECRET_LENGTH} letters or digits; what was sent has"
UNKNOWN = "unknown, revoked, expired or deleted key"

_ACTIVE = f"""
    SELECT key.id, key.name, key.prefix,
        workspace.id, workspace.name, workspace.plan, workspace.suspended
    FROM "apikeys_apikey" AS key
    JOIN "workspaces_workspace" AS workspace ON workspace.id = key.workspace_id
    WHERE key.digest = %s AND {IS_ACTIVE}
"""  # noqa: S608 - made of constants


class BearerKeyAuthentication(BaseAuthentication):
    """Finds the key in the Authorization header; `request.auth` is an `ActiveKey`.

    Nothing is cached: the next request after a key is revoked, expires or is deleted is refused.
    """

    def authenticate(self, request: Request) -> tuple[None, ActiveKey]:
        header = request.META.get("HTTP_AUTHORIZATION", "")
        match = _BEARER.fullmatch(header)
        if match is None:
            raise InvalidKey(reason=MALFORMED if header else "no Authorization header")
        raw = match[1]
        notes: Notes = request.notes  # type: ignore[attr-defined]
        notes.key_prefix, notes.key_digest = keys.loggable(raw), keys.digest(raw)
        found: list[ActiveKey] = fetch_with_retry(_ACTIVE, (notes.key_digest,), ActiveKey)
        if not found:
            if not keys.FORM.fullmatch(raw):
                raise InvalidKey(reason=f"{NO_KEY} {len(raw)} characters")
            raise InvalidKey(reason=UNKNOWN)
        notes.key = found[0]
        return None, found[0]
