"""API keys: issued, used, rolled, revoked and deleted."""

import uuid
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

from apikeys import keys
from apikeys import validators as names
from apikeys.states import WARNED_BEFORE, State, state_of
from audit import record
from config.key_format import PUBLIC_LENGTH
from workspaces.models import Workspace


class AlreadyIssued(Exception):
    """A key with this id exists or existed."""


class AlreadyEnded(Exception):
    """The key is revoked, expired or deleted."""


UNUSED_DAYS = 90  # after which a key may be one that was forgotten


# Of a key, by the database's clock.
ENDED = Q(revoked_at__isnull=False) | Q(expires_at__isnull=False, expires_at__lte=Now())


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
    ) -> tuple["ApiKey", str]:
        """Creates a key.

        Args:
            name: see `apikeys.validators`, like `note`.
            id: the key's id, if the caller has chosen it, so that a repeated call is detected.

        Returns:
            The stored key and the raw one, which is not stored and cannot be shown again.

        Raises:
            ValidationError: the name or the note is not valid.
            AlreadyIssued: a key with this id exists or existed.
        """
        raw = keys.generate()
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
        if id and record.key_is_recorded(id):
            raise AlreadyIssued
        try:
            with transaction.atomic():
                key.save(force_insert=True)
        except IntegrityError as exc:  # two calls at the same time
            raise AlreadyIssued from exc
        record.key_created(
            key=key.snapshot(), person=by.get_username(), note=key.note, expires_at=key.expires_at
        )
        return key, raw


class ApiKey(models.Model):
    """A key of a workspace. The raw key is not stored.

    A key never changes, apart from its end: it can be revoked once, and its expiry can only become
    an earlier one.
    """

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="keys")
    name = models.CharField(max_length=names.LENGTH)
    note = models.CharField("what it is for", max_length=names.NOTE_LENGTH, db_default="")
    prefix = models.CharField("first characters", max_length=PUBLIC_LENGTH)
    digest = models.CharField(max_length=64, unique=True, editable=False)  # SHA-256, hex
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    expires_at = models.DateTimeField("expires", null=True)
    last_used_at = models.DateTimeField("last used", null=True, editable=False)
    last_used_address = models.CharField(max_length=45, db_default="", editable=False)
    last_used_client = models.CharField(  # the user agent
        max_length=record.USER_AGENT_LENGTH, db_default="", editable=False
    )
    revoked_at = models.DateTimeField("revoked", null=True, editable=False)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, editable=False, related_name="+"
    )

    objects = ApiKeyManager()

    class Meta:
        verbose_name = "API key"
        verbose_name_plural = "API keys"
        indexes = [
            # The list of a workspace's keys, newest first.
            models.Index(
                "workspace",
                models.F("created_at").desc(),
                models.F("id").desc(),
                name="apikey_newest",
            ),
            # The key that a refused one begins like.
            models.Index("prefix", name="apikey_prefix"),
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    @property
    def state(self) -> State:
        """Whether it works, as far as the key itself decides it."""
        return state_of(self.revoked_at, self.expires_at)

    @property
    def is_unused(self) -> bool:
        """As `ApiKeyQuerySet.unused`."""
        long_ago = timezone.now() - timedelta(days=UNUSED_DAYS)
        return not self.state.has_ended and (self.last_used_at or self.created_at) < long_ago

    @property
    def was_used_lately(self) -> bool:
        """Whether a program that runs now may need it: it works, and was used within a day."""
        used = self.last_used_at
        return bool(used and not self.state.has_ended and used > timezone.now() - timedelta(days=1))

    def snapshot(self) -> record.KeySnapshot:
        """A copy for an audit entry."""
        return record.KeySnapshot(
            workspace_id=self.workspace_id,
            workspace_name=self.workspace.name,
            key_id=self.id,
            key_name=self.name,
            key_prefix=self.prefix,
        )

    @transaction.atomic
    def revoke(self, *, by: User) -> None:
        """Stops the key immediately and for good; it stays in the list. Idempotent."""
        revoked = ApiKey.objects.filter(pk=self.pk, revoked_at=None).update(
            revoked_at=timezone.now(), revoked_by=by
        )
        if revoked:
            record.key_revoked(key=self.snapshot(), person=by.get_username())
        self.refresh_from_db()

    @transaction.atomic
    def roll(
        self,
        *,
        by: User,
        ends_in: timedelta | None,
        name: str,
        note: str,
        expires_at: datetime | None,
        id: uuid.UUID,
    ) -> tuple["ApiKey", str]:
        """Creates a key that replaces this one, which ends after a while.

        Args:
            ends_in: when this key expires, unless it does so earlier; None to let it go on.
            name: of the new key, as the following ones; see `ApiKeyManager.issue`.

        Returns:
            As `ApiKeyManager.issue`.

        Raises:
            AlreadyEnded: this key does not work any more.
            AlreadyIssued: a key with this id exists or existed.
        """
        if ApiKey.objects.active().select_for_update().filter(pk=self.pk).first() is None:
            raise AlreadyEnded
        key, raw = ApiKey.objects.issue(
            workspace=self.workspace, name=name, note=note, expires_at=expires_at, by=by, id=id
        )
        if ends_in is not None:
            ends_at = Now() + ends_in
            later = Q(expires_at=None) | Q(expires_at__gt=ends_at)
            ApiKey.objects.filter(later, pk=self.pk).update(expires_at=ends_at)
        self.refresh_from_db()
        record.key_rolled(
            key=self.snapshot(),
            person=by.get_username(),
            ends_at=self.expires_at,
            replaced_by=key.snapshot(),
        )
        return key, raw

    @transaction.atomic
    def delete_by(self, *, by: User) -> None:
        """Stops the key and removes it; its name and prefix stay in the audit log."""
        facts = self.snapshot()
        deleted, _ = ApiKey.objects.filter(pk=self.pk).delete()
        if deleted:
            record.key_deleted(key=facts, person=by.get_username())
