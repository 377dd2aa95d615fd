"""Bearer authentication by workspace key: every failure is the same 401."""

from django.db import InterfaceError, OperationalError, connection
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from apikeys import keys
from apikeys.models import ApiKey
from config.errors import InvalidKey


class BearerKeyAuthentication(BaseAuthentication):
    """Finds the key of the Authorization header; `request.auth` is the key, with its workspace.

    Nothing is cached: a key that was revoked or deleted is refused by the very next request.
    """

    def authenticate(self, request: Request) -> tuple[None, ApiKey]:
        raw = keys.from_header(request.META.get("HTTP_AUTHORIZATION", ""))
        key = find_active(raw) if raw else None
        if key is None:
            raise InvalidKey
        key.note_use(timezone.now())
        return None, key


def find_active(raw: str) -> ApiKey | None:
    """The active key that `raw` is, with its workspace, in one query.

    This is a request's first query, so it is where a connection turns out to have died while it
    was idle. It is tried once more on a new one; an existing outage then answers 503.
    """
    matching = ApiKey.objects.active().select_related("workspace").filter(digest=keys.digest(raw))
    try:
        return matching.first()
    except (OperationalError, InterfaceError):
        connection.close()
        return matching.first()
