"""API keys: issued, used, rolled, revoked and deleted."""

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, models, transaction
from django.db.models import F, Q
from django.db.models.functions import Now
from django.utils import timezone

from apikeys import keys
from apikeys.keys import ENDED, WARNED_BEFORE, State
from audit.models import NEWEST_FIRST, Action, AuditEntry
from audit.record import record
from audit.snapshots import KeySnapshot
from config.request.redaction import PUBLIC_LENGTH
from workspaces.models import Workspace


class AlreadyIssued(Exception):
    """A key with this id exists or existed."""


def minute(moment: datetime) -> str:
    """`2026-03-01 09:00 UTC`."""
    return f"{moment.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    """Times are compared by the database's clock, as authentication does."""

    def active(self) -> "ApiKeyQuerySet":
        return self.filter(~ENDED)

    def expiring(self) -> "ApiKeyQuerySet":
        """Without those that were rolled to a key that works, which end on purpose."""
        soon = self.active().filter(expires_at__lte=Now() + WARNED_BEFORE)
        return soon.exclude(replaced_by__in=ApiKey.objects.active())

    def used_since_rolled(self) -> "ApiKeyQuerySet":
        """Those that will end, though a program has not changed to the key that replaces them."""
        rolled = self.active().filter(replaced_by__in=ApiKey.objects.active())
        return rolled.filter(expires_at__gt=Now(), last_used_at__gt=F("replaced_by__created_at"))

    @transaction.atomic
    def issue(
        self,
        *,
        workspace: Workspace,
        name: str,
        by: User,
        expires_at: datetime | None = None,
        id: uuid.UUID | None = None,
        raw: str = "",
        ran_by: str = "",
    ) -> tuple["ApiKey", str]:
        """Creates a key.

        Args:
            name: see `apikeys.keys.clean_name`.
            id: chosen by the caller, so that a repeated call is detected.
            raw: the raw key of a demo; random if empty.
            ran_by: who ran the command that creates the key on behalf of `by`.

        Returns:
            The stored key and the raw one, which is not stored and cannot be shown again.

        Raises:
            ValidationError: the name is not valid, or the workspace has too many active keys.
            AlreadyIssued: a key with this id exists or existed.
        """
        workspace = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
        raw = raw or keys.generate()
        key = self.model(
            id=id or uuid.uuid4(),
            workspace=workspace,
            name=keys.clean_name(name),
            expires_at=expires_at,
            prefix=raw[:PUBLIC_LENGTH],
            digest=keys.digest(raw),
            created_by=None if ran_by else by,
        )
        if id and AuditEntry.objects.filter(key_id=id).exists():
            raise AlreadyIssued
        try:
            with transaction.atomic():
                key.save(force_insert=True)
        except IntegrityError as exc:  # two calls at the same time
            raise AlreadyIssued from exc
        if self.active().filter(workspace=workspace).count() > keys.MOST_ACTIVE:
            raise ValidationError(
                f"Nothing was created: a workspace may have {keys.MOST_ACTIVE} active keys. "
                "Revoke or delete one that is not needed."
            )
        facts = []
        if key.expires_at:
            facts.append(f"expires {minute(key.expires_at)}")
        if ran_by:
            facts.append(f"on behalf of {by}")
        who = ran_by or by.get_username()
        record(Action.KEY_CREATED, by=who, key=key.snapshot(), detail="; ".join(facts))
        return key, raw


class ApiKey(models.Model):
    """A key of a workspace. The raw key is not stored.

    Only its end changes: it can be revoked once, its expiry can only become an earlier one, and it
    can be replaced by another key.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="keys")
    name = models.CharField(max_length=keys.NAME_LENGTH)
    prefix = models.CharField(max_length=PUBLIC_LENGTH)
    digest = models.CharField(max_length=64, unique=True, editable=False)  # SHA-256, hex
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    expires_at = models.DateTimeField(null=True)
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+"
    )
    # The key that it was rolled to. That one may be deleted: `select_related` then finds None.
    replaced_by = models.ForeignKey(
        "self", models.DO_NOTHING, null=True, related_name="+", db_constraint=False, db_index=False
    )

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        indexes = [
            # The list of a workspace's keys, newest first.
            models.Index("workspace", *NEWEST_FIRST, name="apikey_newest"),
            # The key with the same beginning as what a refused request has sent.
            models.Index("prefix", name="apikey_prefix"),
        ]

    def __str__(self) -> str:
        return f"{self.prefix}… {self.name}"

    @property
    def state(self) -> State:
        if self.revoked_at is not None:
            return State.REVOKED
        if self.expires_at is None:
            return State.ACTIVE
        left = self.expires_at - timezone.now()
        if left <= timedelta(0):
            return State.ROLLED if self.replaced_by_id else State.EXPIRED
        return State.EXPIRES_SOON if left <= WARNED_BEFORE else State.ACTIVE

    @property
    def workspace_name(self) -> str:
        return self.workspace.name

    def snapshot(self) -> KeySnapshot:
        return KeySnapshot.of(self)

    @transaction.atomic
    def revoke(self, *, by: User) -> None:
        """Stops the key immediately and for good; it stays in the list. Idempotent."""
        revoked = ApiKey.objects.filter(pk=self.pk, revoked_at=None).update(
            revoked_at=timezone.now(), revoked_by=by
        )
        if revoked:
            record(Action.KEY_REVOKED, by=by.get_username(), key=self.snapshot())
        self.refresh_from_db()

    @transaction.atomic
    def roll(self, *, by: User, ends_in: timedelta | None, **new: Any) -> tuple["ApiKey", str]:
        """Creates a key that replaces this one, which ends after a while.

        Args:
            ends_in: after this time the old key expires, unless it does so earlier; None to let it
                go on. If it ends at once, it does not count as an active key.
            new: `expires_at` and `id` of the new key.

        Returns and raises what `issue` does, and raises ValidationError if this key does not work
        any more.
        """
        old = ApiKey.objects.filter(pk=self.pk)
        old.select_for_update().first()  # two at once: the second sees the end that the first set
        if not old.active().exists():
            raise ValidationError("Nothing was created: the key has ended already.")
        if ends_in is not None:
            ends_at = Now() + ends_in
            ends_later = Q(expires_at=None) | Q(expires_at__gt=ends_at)
            old.filter(ends_later).update(expires_at=ends_at)
        key, raw = ApiKey.objects.issue(workspace=self.workspace, name=self.name, by=by, **new)
        old.update(replaced_by=key)
        self.refresh_from_db()
        end = f"ends {minute(self.expires_at)}" if self.expires_at else "does not end by itself"
        detail = f"{end}; replaced by {key}"
        record(Action.KEY_ROLLED, by=by.get_username(), key=self.snapshot(), detail=detail)
        return key, raw

    @transaction.atomic
    def delete_by(self, *, by: User) -> None:
        facts = self.snapshot()
        deleted, _ = ApiKey.objects.filter(pk=self.pk).delete()
        if deleted:
            record(Action.KEY_DELETED, by=by.get_username(), key=facts)
