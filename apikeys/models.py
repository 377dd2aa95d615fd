"""API keys: issued, used, revoked and deleted."""

import uuid

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from apikeys import keys
from apikeys import validators as names
from audit import record
from config.key_format import PUBLIC_LENGTH
from workspaces.models import Workspace


class AlreadyIssued(Exception):
    """A key with this id exists or existed."""


class ApiKeyManager(models.Manager["ApiKey"]):
    @transaction.atomic
    def issue(
        self, *, workspace: Workspace, name: str, by: User, id: uuid.UUID | None = None
    ) -> tuple["ApiKey", str]:
        """Creates a key.

        Args:
            name: see `apikeys.validators`.
            id: the key's id, if the caller has chosen it, so that a repeated call is detected.

        Returns:
            The stored key and the raw one, which is not stored and cannot be shown again.

        Raises:
            ValidationError: the name is not valid.
            AlreadyIssued: a key with this id exists or existed.
        """
        raw = keys.generate()
        key = self.model(
            id=id or uuid.uuid4(),
            workspace=workspace,
            name=names.clean(name),
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
        record.key_created(key=key.snapshot(), person=by.get_username())
        return key, raw


class ApiKey(models.Model):
    """A key of a workspace. The raw key is not stored."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="keys")
    name = models.CharField(max_length=names.LENGTH)
    prefix = models.CharField("first characters", max_length=PUBLIC_LENGTH)
    digest = models.CharField(max_length=64, unique=True, editable=False)  # SHA-256, hex
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    last_used_at = models.DateTimeField("last used", null=True, editable=False)
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
    def delete_by(self, *, by: User) -> None:
        """Stops the key and removes it; its name and prefix stay in the audit log."""
        facts = self.snapshot()
        deleted, _ = self.delete()
        if deleted:
            record.key_deleted(key=facts, person=by.get_username())
