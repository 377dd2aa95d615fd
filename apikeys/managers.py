"""How keys are created and found."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now

from apikeys import keys
from apikeys import validators as names
from apikeys.states import ENDED, WARNED_BEFORE
from audit.models import Action
from audit.queries import key_is_recorded
from audit.record import record
from workspaces.models import Workspace

if TYPE_CHECKING:
    from apikeys.models import ApiKey


class AlreadyIssued(Exception):
    """A key with this id exists or existed."""


UNUSED_DAYS = 90  # after which a key may be one that was forgotten


def minute(moment: datetime) -> str:
    """`2026-03-01 09:00 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    """Times are compared by the database's clock, as authentication does."""

    def active(self) -> "ApiKeyQuerySet":
        """Neither revoked nor expired."""
        return self.filter(~ENDED)

    def expiring(self) -> "ApiKeyQuerySet":
        """Active, and expiring within 14 days."""
        return self.active().filter(expires_at__lte=Now() + WARNED_BEFORE)

    def expired(self) -> "ApiKeyQuerySet":
        """Expired, and not revoked."""
        return self.filter(ENDED, revoked_at=None)

    def unused(self) -> "ApiKeyQuerySet":
        """Active, older than 90 days, and not used for 90 days."""
        long_ago = Now() - timedelta(days=UNUSED_DAYS)
        return self.active().filter(
            Q(last_used_at=None) | Q(last_used_at__lt=long_ago), created_at__lt=long_ago
        )


_Manager = models.Manager.from_queryset(ApiKeyQuerySet)


class ApiKeyManager(_Manager["ApiKey"]):
    @transaction.atomic
    def issue(
        self,
        *,
        workspace: Workspace,
        name: str,
        by: User,
        note: str = "",
        expires_at: datetime | None = None,
        id: uuid.UUID | None = None,
        raw: str = "",
    ) -> tuple["ApiKey", str]:
        """Creates a key.

        Args:
            name: see `apikeys.validators`, like `note`.
            id: the key's id, if the caller has chosen it, so that a repeated call is detected.
            raw: the raw key of a demo; a random one without it.

        Returns:
            The stored key and the raw one, which is not stored and cannot be shown again.

        Raises:
            ValidationError: the name or the note is not valid.
            AlreadyIssued: a key with this id exists or existed.
        """
        raw = raw or keys.generate()
        key = self.model(
            id=id or uuid.uuid4(),
            workspace=workspace,
            name=names.clean(name),
            note=names.clean_note(note),
            expires_at=expires_at,
            prefix=keys.first_characters(raw),
            digest=keys.digest(raw),
            created_by=by,
        )
        if id and key_is_recorded(id):
            raise AlreadyIssued
        try:
            with transaction.atomic():
                key.save(force_insert=True)
        except IntegrityError as exc:  # two calls at the same time
            raise AlreadyIssued from exc
        facts = [f"expires {minute(key.expires_at)}"] if key.expires_at else []
        facts += [f"for: {key.note}"] if key.note else []
        record(
            Action.KEY_CREATED, by=by.get_username(), key=key.snapshot(), detail="; ".join(facts)
        )
        return key, raw
