"""A workspace's keys and their life: issued, used, revoked, deleted."""

import uuid

from django.conf import settings
from django.contrib.auth.models import User
from django.db import IntegrityError, models, transaction
from django.utils import timezone

from apikeys import keys
from apikeys import validators as names
from audit import record
from workspaces.models import Workspace


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def in_workspace(self, workspace: Workspace) -> "ApiKeyQuerySet":
        return self.filter(workspace=workspace)


class AlreadyIssued(Exception):
    """There is, or was, a key with the id that a new one was to have."""


class ApiKeyManager(models.Manager["ApiKey"]):
    @transaction.atomic
    def issue(
        self, *, workspace: Workspace, name: str, by: User, id: uuid.UUID | None = None
    ) -> tuple["ApiKey", str]:
        """Creates a key.

        Args:
            name: what people call it, within the rules of `apikeys.validators`.
            id: the key's, where it was chosen before, so that asking twice makes one key.

        Returns:
            The stored key and the raw one, which exists nowhere else and cannot be had again.

        Raises:
            ValidationError: the name is not one.
            AlreadyIssued: a key with this id exists, or did and was deleted.
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
        if id and record.speaks_of_key(id):
            raise AlreadyIssued
        try:
            with transaction.atomic():
                key.save(force_insert=True)
        except IntegrityError as exc:  # the other of two that came at the same moment
            raise AlreadyIssued from exc
        record.key_created(key=key.snapshot(), person=by.get_username())
        return key, raw


class ApiKey(models.Model):
    """One key of one workspace; the raw key itself is not here."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="keys")
    name = models.CharField(max_length=names.LENGTH)
    prefix = models.CharField("first characters", max_length=keys.SHOWN_LENGTH)
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

    objects = ApiKeyManager.from_queryset(ApiKeyQuerySet)()

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
        ]

    def __str__(self) -> str:
        return f"{self.name} ({self.prefix}…)"

    def snapshot(self) -> record.KeySnapshot:
        """What an audit entry copies of this key."""
        return record.KeySnapshot(
            workspace_id=self.workspace_id,
            workspace_name=self.workspace.name,
            key_id=self.id,
            key_name=self.name,
            key_prefix=self.prefix,
        )

    @transaction.atomic
    def revoke(self, *, by: User) -> None:
        """Stops the key at once, for good; it stays in the list. Revoking twice changes nothing."""
        revoked = ApiKey.objects.filter(pk=self.pk, revoked_at=None).update(
            revoked_at=timezone.now(), revoked_by=by
        )
        if revoked:
            record.key_revoked(key=self.snapshot(), person=by.get_username())
        self.refresh_from_db()

    @transaction.atomic
    def delete_by(self, *, by: User) -> None:
        """Stops the key and takes it off the list; its name and prefix stay in the history."""
        facts = self.snapshot()
        deleted, _ = self.delete()
        if deleted:
            record.key_deleted(key=facts, person=by.get_username())
