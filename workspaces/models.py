import uuid
from importlib import import_module

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.db.models.functions import Now, Upper
from django.urls import reverse
from django.utils import timezone

from audit.snapshots import WorkspaceSnapshot
from workspaces.plans import Plan

# An account that is open. Without that, memberships and rights mean nothing.
CAN_SIGN_IN = {"is_active": True, "is_staff": True}


def can_sign_in(user: User | AnonymousUser) -> bool:
    return user.is_active and user.is_staff


class WorkspaceQuerySet(models.QuerySet["Workspace"]):
    def administered_by(self, user: User) -> "WorkspaceQuerySet":
        """The workspaces whose admin the user is: active staff with an ADMIN membership."""
        return self.filter(memberships__in=Membership.objects.admins().filter(user=user))


class Workspace(models.Model):
    """A tenant: it owns documents and keys, and has no access to those of another one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200)
    # No database constraint: a workspace may have a plan that is no longer offered.
    plan = models.CharField(max_length=20, choices=Plan, default=Plan.FREE)
    suspended = models.BooleanField(
        "state", choices=[(False, "Active"), (True, "Suspended")], default=False
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = WorkspaceQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(Upper("name"), name="workspace_name")]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("admin:workspaces_workspace_change", args=[self.pk])

    @property
    def label(self) -> str:
        """ "Acme · 33fb8abb": tells a workspace apart from others with the same name."""
        return f"{self.name} · {str(self.id)[:8]}"

    def snapshot(self) -> WorkspaceSnapshot:
        return WorkspaceSnapshot(workspace_id=self.id, workspace_name=self.name)


class DocumentCount(models.Model):
    """Denormalised document counts: the sum of a workspace's rows with a status is its count.

    Triggers on the documents' table write it (`documents/triggers.sql`). It has no foreign key:
    checking one would lock the workspace for each writer.
    """

    workspace_id = models.UUIDField(db_index=True)
    status = models.CharField(max_length=20)
    count = models.BigIntegerField()  # a change; negative if documents were removed

    def __str__(self) -> str:
        return f"{self.count:+} {self.status} in {self.workspace_id}"


class MembershipQuerySet(models.QuerySet["Membership"]):
    def admins(self) -> "MembershipQuerySet":
        can_sign_in = {f"user__{name}": value for name, value in CAN_SIGN_IN.items()}
        return self.filter(role=Membership.Role.ADMIN, **can_sign_in)


class Membership(models.Model):
    class Role(models.TextChoices):
        ADMIN = "ADMIN", "Admin"
        MEMBER = "MEMBER", "Member"

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.MEMBER)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["workspace", "user"], name="membership_once"),
            models.CheckConstraint(
                condition=models.Q(role__in=["ADMIN", "MEMBER"]), name="membership_role"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.workspace} ({self.role})"

    @property
    def role_label(self) -> str:
        return self.get_role_display().lower()

    @property
    def can_sign_in(self) -> bool:
        return can_sign_in(self.user)


LOGIN_LENGTH = 150  # characters of an e-mail address that is a login


class ConfirmedAddress(models.Model):
    """The newest e-mail address that the account's user has proved to read.

    It is no proof if the account has another login now.
    """

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="confirmed_address"
    )
    email = models.EmailField()  # in lower case
    confirmed_at = models.DateTimeField(auto_now=True)

    def __str__(self) -> str:
        return f"{self.email} of {self.user}"

    @classmethod
    def of(cls, user: User) -> "ConfirmedAddress | None":
        """The user's, if it is the account's login, which is what others and the audit log see."""
        confirmed = getattr(user, "confirmed_address", None)
        return confirmed if confirmed and confirmed.email == user.username.lower() else None


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def pending(self) -> "InvitationQuerySet":
        """Neither accepted nor revoked; may have expired."""
        return self.filter(accepted_at=None, revoked_at=None)


class Invitation(models.Model):
    """An offer to the owner of an e-mail address: to be an admin of the workspace.

    Its link has a random token. Only the token's hash is stored.
    """

    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="invitations")
    email = models.EmailField(max_length=LOGIN_LENGTH)  # in lower case
    digest = models.CharField(max_length=64, unique=True, editable=False)  # SHA-256, hex
    created_at = models.DateTimeField(auto_now_add=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
    )
    # Whether the link was sent to the address, and shown to nobody.
    mailed = models.BooleanField(default=False)
    expires_at = models.DateTimeField()
    accepted_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["workspace", "email"],
                condition=models.Q(accepted_at=None, revoked_at=None),
                name="invitation_pending_once",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.email} to {self.workspace}"

    @property
    def expired(self) -> bool:
        return self.expires_at <= timezone.now()


class Mail(models.Model):
    """An e-mail that waits. It may have a secret link, and is deleted once it is sent.

    Attributes:
        about: the event, if nobody may be told twice. The row then stays, without its text.
        due_at: the next attempt; None once it is sent.
    """

    to = models.EmailField(blank=True)
    subject = models.CharField(max_length=500)
    text = models.TextField()
    about = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, null=True, db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["to", "about"], condition=~models.Q(about=""), name="mail_about_once"
            )
        ]

    def __str__(self) -> str:
        return f"{self.subject} to {self.to}"


class NoMails(models.Model):
    """A user who wants no e-mails about workspaces."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True, related_name="no_mails"
    )

    def __str__(self) -> str:
        return str(self.user)


class Session(AbstractBaseSession):
    """A session, and what the page Security shows; `workspaces.accounts.sessions` writes it.

    Its key signs its user in, so no page, log or audit entry has it.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True)
    address = models.CharField(max_length=45, default="", db_default="")  # of the last request
    user_agent = models.CharField(max_length=500, default="", db_default="")
    signed_in_at = models.DateTimeField(null=True)
    last_seen_at = models.DateTimeField(auto_now=True, db_default=Now())

    @classmethod
    def get_session_store_class(cls) -> type[SessionBase]:
        store: type[SessionBase] = import_module(settings.SESSION_ENGINE).SessionStore
        return store
