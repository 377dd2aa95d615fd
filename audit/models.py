"""The audit log, and the Merkle tree over it: rows can only be added.

Triggers refuse everything else (`audit/triggers.sql`), for every role.
"""

from typing import Any, Self

from django.db import models
from django.db.models.functions import Collate, Now, Upper

from config.request.redaction import PUBLIC_LENGTH

NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())


# The facts of several actions.
_WORKSPACE = "by workspace detail"
_DOCUMENT = "by workspace document detail"
_MEMBER = "by workspace member detail"
_ACCOUNT = "by member detail"


class Action(models.TextChoices):
    """What happened: the stored value, an entry's facts, a colour if it is good or bad, the label.

    A fact in parentheses may be missing. The comments say what the details are.
    """

    facts: str
    colour: str

    def __new__(cls, value: str, facts: str = "", colour: str = "") -> Self:
        self = str.__new__(cls, value)
        self._value_, self.facts, self.colour = value, facts, colour
        return self

    # When it expires; when it ends and the new key.
    KEY_CREATED = "key.created", "by key (detail)", "ok", "API key created"
    KEY_ROLLED = "key.rolled", "by key detail", "API key rolled"
    KEY_REVOKED = "key.revoked", "by key", "warn", "API key revoked"
    KEY_DELETED = "key.deleted", "by key", "warn", "API key deleted"
    # The name, the URL without its query, the id, and: types of events; what changed; why, if the
    # service did it; an event's id, or how many.
    WEBHOOK_CREATED = "webhook.created", _WORKSPACE, "ok", "Webhook created"
    WEBHOOK_CHANGED = "webhook.changed", _WORKSPACE, "Webhook changed"
    WEBHOOK_SWITCHED_ON = "webhook.switched_on", _WORKSPACE, "ok", "Webhook switched on"
    WEBHOOK_SWITCHED_OFF = "webhook.switched_off", _WORKSPACE, "warn", "Webhook switched off"
    WEBHOOK_SECRET_ROLLED = "webhook.secret_rolled", _WORKSPACE, "Webhook's secret rolled"
    WEBHOOK_DELETED = "webhook.deleted", _WORKSPACE, "warn", "Webhook deleted"
    WEBHOOK_TEST_SENT = "webhook.test_sent", _WORKSPACE, "Webhook test event sent"
    WEBHOOK_SENT_AGAIN = "webhook.sent_again", _WORKSPACE, "Deliveries sent again"
    # What happened to it; fields.
    DOCUMENT_DOWNLOADED = "document.downloaded", "key document file", "Document downloaded"
    DOCUMENT_VIEWED = "document.viewed", "by workspace document", "Document's page opened"
    DOCUMENT_IMPORTED = "document.imported", _DOCUMENT, "Document imported"
    FILE_IMPORTED = "document.file_imported", "by workspace document file", "File imported"
    EVIDENCE_EXPORTED = "document.evidence_exported", _DOCUMENT, "Evidence exported"
    # The plan; from which to which, why; why.
    WORKSPACE_CREATED = "workspace.created", _WORKSPACE, "ok", "Workspace created"
    WORKSPACE_RENAMED = "workspace.renamed", _WORKSPACE, "Workspace renamed"
    PLAN_CHANGED = "workspace.plan_changed", _WORKSPACE, "Plan changed"
    WORKSPACE_SUSPENDED = "workspace.suspended", _WORKSPACE, "warn", "Workspace suspended"
    WORKSPACE_REINSTATED = "workspace.reinstated", _WORKSPACE, "ok", "Workspace reinstated"
    # The role; from which to which; who invited.
    MEMBER_ADDED = "member.added", _MEMBER, "ok", "Member added"
    MEMBER_REMOVED = "member.removed", _MEMBER, "warn", "Member removed"
    MEMBER_ROLE_CHANGED = "member.role_changed", _MEMBER, "Member's role changed"
    INVITATION_CREATED = "invitation.created", _MEMBER, "ok", "Invitation created"
    INVITATION_ACCEPTED = "invitation.accepted", _MEMBER, "ok", "Invitation accepted"
    INVITATION_REVOKED = "invitation.revoked", _MEMBER, "warn", "Invitation revoked"
    # The typed login, unless it may be a password; how many.
    LOGIN = "login.succeeded", "by", "Signed in"
    LOGOUT = "login.signed_out", "by", "Signed out"
    LOGIN_FAILED = "login.failed", "(by) (detail)", "bad", "Sign-in failed"
    SESSIONS_ENDED = "login.sessions_ended", _ACCOUNT, "Sessions ended"
    # Rights; from which to which; why. Without `by`, a password or an address was set with the link
    # of an e-mail. Of a requested reset, the account may not exist.
    ACCOUNT_CREATED = "account.created", "by member (detail)", "ok", "Account created"
    ACCOUNT_CHANGED = "account.changed", _ACCOUNT, "Account changed"
    OPERATOR_MADE = "account.operator_made", _ACCOUNT, "Made an operator"
    OPERATOR_ENDED = "account.operator_ended", _ACCOUNT, "Rights of an operator ended"
    SUPPORT_MADE = "account.support_made", _ACCOUNT, "Made support staff"
    SUPPORT_ENDED = "account.support_ended", _ACCOUNT, "Rights of support staff ended"
    ACCOUNT_DELETED = "account.deleted", "by member", "warn", "Account deleted"
    PASSWORD_CHANGED = "account.password_changed", "(by) member", "Password changed"
    PASSWORD_CONFIRMED = "account.password_confirmed", "by", "Password entered again"
    PASSWORD_REFUSED = (
        "account.password_refused",
        "by (detail)",
        "bad",
        "Password or code entered again, but wrong",
    )
    PASSWORD_RESET_REQUESTED = (
        "account.password_reset_requested",
        "member",
        "Password reset requested",
    )
    ADDRESS_CONFIRMED = (
        "account.address_confirmed",
        "(by) member detail",
        "E-mail address confirmed",
    )
    SECOND_FACTOR_ADDED = "account.second_factor_added", "by member", "ok", "Second factor set up"
    SECOND_FACTOR_REMOVED = (
        "account.second_factor_removed",
        "by member",
        "warn",
        "Second factor removed",
    )
    RECOVERY_CODES_MADE = "account.recovery_codes_made", "by member", "Recovery codes made"
    RECOVERY_CODE_USED = "account.recovery_code_used", "by", "Recovery code used"
    # The filters; the only workspace in it. Results of commands.
    LOG_EXPORTED = "audit.exported", "by (workspace) detail", "Audit log exported"
    LOG_VERIFIED = "audit.verified", "by detail", "Audit log verified"
    LOG_DAMAGED = "audit.verification_failed", "by detail", "bad", "Audit log is damaged"
    LOG_RESTORED = "audit.restored", "by detail", "Audit log restored from a backup"
    COMMAND_RUN = "command.run", "by detail", "Command run"
    BACKUP_MADE = "backup.made", "by (detail)", "Backup made"


# A filter on downloads fills a page quickly without an index, since nearly all entries are
# downloads. The indexes by action exclude them, to keep downloads cheap to insert.
NO_DOWNLOADS = ~models.Q(action=Action.DOCUMENT_DOWNLOADED)
# Without imports too, which can have thousands of entries a day.
CHANGES = ~models.Q(action__startswith="document.")


def folded(column: "str | models.Expression") -> Collate:
    """The text in capitals, byte by byte: for searches in any case."""
    return Collate(Upper(column), "C")


class AuditEntry(models.Model):
    """One thing that happened, with copies of the ids and names.

    There are no foreign keys: deleting a key, a user or a workspace deletes no entries, and a name
    in an entry stays what it was at that time.
    """

    # A trigger sets the id and this time, whatever an INSERT says.
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    action = models.CharField(max_length=40)  # an `Action`, which has the label
    workspace_id = models.UUIDField(null=True)  # None for a sign-in
    workspace_name = models.CharField(max_length=200, blank=True)
    person = models.CharField(max_length=254, blank=True)  # login of who did it; "" for a key
    member = models.CharField(max_length=254, blank=True)  # login of the member
    detail = models.CharField(max_length=1000, blank=True)  # "from member to admin"
    key_id = models.UUIDField(null=True)
    key_name = models.CharField(max_length=100, blank=True)
    key_prefix = models.CharField(max_length=PUBLIC_LENGTH, blank=True)
    document_id = models.UUIDField(null=True)
    document_title = models.CharField(max_length=500, blank=True)
    file_type = models.CharField(max_length=20, blank=True)  # original, signed, certificate
    file_sha256 = models.CharField(max_length=64, blank=True)  # hex digits, of the whole file
    byte_range = models.CharField(max_length=60, blank=True)  # "0-99/200"; "" for the whole file
    address = models.CharField(max_length=45, blank=True)  # IPv4 or IPv6
    user_agent = models.CharField(max_length=500, blank=True)
    request_id = models.CharField(max_length=32, blank=True)

    class Meta:
        # Each query reads a range of one of these, newest first, from any position.
        indexes = [
            # All entries, and the filter by date.
            models.Index(*NEWEST_FIRST, name="audit_newest"),
            # A workspace's entries.
            models.Index("workspace_id", *NEWEST_FIRST, name="audit_workspace"),
            # ?kind=changes, of all entries and of a workspace's.
            models.Index(*NEWEST_FIRST, condition=CHANGES, name="audit_changes"),
            models.Index(
                "workspace_id", *NEWEST_FIRST, condition=CHANGES, name="audit_workspace_changes"
            ),
            # ?action__exact=…
            models.Index("action", *NEWEST_FIRST, condition=NO_DOWNLOADS, name="audit_action"),
            # ?workspace_id__exact=…&action__exact=…, and the same for a workspace's own admins.
            models.Index(
                "workspace_id",
                "action",
                *NEWEST_FIRST,
                condition=NO_DOWNLOADS,
                name="audit_workspace_action",
            ),
            # ?document_id__exact=…
            models.Index(
                "document_id",
                *NEWEST_FIRST,
                condition=models.Q(document_id__isnull=False),
                name="audit_document",
            ),
            # ?key_id__exact=…
            models.Index("key_id", *NEWEST_FIRST, name="audit_key"),
            # ?key_prefix__exact=…
            models.Index(
                "key_prefix", *NEWEST_FIRST, condition=NO_DOWNLOADS, name="audit_key_prefix"
            ),
            # ?person=…, in any case, of who did it or of the member; ?address__exact=…
            models.Index(
                folded("person"), *NEWEST_FIRST, condition=~models.Q(person=""), name="audit_person"
            ),
            models.Index(
                folded("member"), *NEWEST_FIRST, condition=~models.Q(member=""), name="audit_member"
            ),
            models.Index(
                "address", *NEWEST_FIRST, condition=~models.Q(address=""), name="audit_address"
            ),
            # ?request_id__exact=…: a handful of entries.
            models.Index("request_id", name="audit_request"),
        ]

    def __str__(self) -> str:
        return f"{self.action_label}, {self.created_at:%Y-%m-%d %H:%M:%S} UTC"

    @classmethod
    def newest(cls, action: Action, **of: Any) -> "AuditEntry | None":
        """The newest entry of an action, which is no download."""
        entries = cls.objects.filter(NO_DOWNLOADS, action=action, **of)
        return entries.order_by(*NEWEST_FIRST).first()

    @property
    def action_label(self) -> str:
        """What happened, in words; the stored value if a later release has written it."""
        return str(Action(self.action).label) if self.action in Action else self.action

    @property
    def colour(self) -> str:
        return Action(self.action).colour if self.action in Action else ""


class Leaf(models.Model):
    index = models.BigIntegerField(primary_key=True)  # from 0, without a gap
    entry_id = models.BigIntegerField(unique=True)
    hash = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        return str(self.index)


class Subtree(models.Model):
    """The hash of a complete subtree of 256 ** level leaves; level 0 is in `Leaf`."""

    pk = models.CompositePrimaryKey("level", "index")
    level = models.SmallIntegerField()
    index = models.BigIntegerField()  # from 0, in its level
    hash = models.BinaryField(max_length=32)

    def __str__(self) -> str:
        return f"{self.level}/{self.index}"


class Checkpoint(models.Model):
    """A signed statement: the tree of the first `size` leaves has this root."""

    size = models.BigIntegerField(primary_key=True)  # leaves
    sealed_at = models.DateTimeField()
    note = models.TextField()  # signed (`audit.sealing.note`)

    def __str__(self) -> str:
        return f"{self.size:,} entries, {self.sealed_at:%Y-%m-%d %H:%M:%S} UTC"


# What an INSERT sets: all but the id and `created_at`.
WRITTEN = [
    field.attname
    for field in AuditEntry._meta.concrete_fields
    if field.attname not in ("id", "created_at")
]
# All but the id, in the order of exports.
COLUMNS = ["created_at", *WRITTEN]
