"""The audit log, and the Merkle tree over it: rows can only be added.

Triggers refuse everything else (`audit/triggers.sql`), for every role.
"""

from django.db import models
from django.db.models.functions import Collate, Now, Upper

from config.runtime.key_format import PUBLIC_LENGTH

NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())


class Action(models.TextChoices):
    """What happened."""

    KEY_CREATED = "key.created", "API key created"
    KEY_CHANGED = "key.changed", "API key's name or note changed"
    KEY_ROLLED = "key.rolled", "API key rolled"
    KEY_REVOKED = "key.revoked", "API key revoked"
    KEY_DELETED = "key.deleted", "API key deleted"
    WEBHOOK_CREATED = "webhook.created", "Webhook created"
    WEBHOOK_CHANGED = "webhook.changed", "Webhook changed"
    WEBHOOK_SWITCHED_ON = "webhook.switched_on", "Webhook switched on"
    WEBHOOK_SWITCHED_OFF = "webhook.switched_off", "Webhook switched off"
    WEBHOOK_SECRET_ROLLED = "webhook.secret_rolled", "Webhook's secret rolled"
    WEBHOOK_DELETED = "webhook.deleted", "Webhook deleted"
    WEBHOOK_TEST_SENT = "webhook.test_sent", "Webhook test event sent"
    WEBHOOK_SENT_AGAIN = "webhook.sent_again", "Webhook's deliveries sent again"
    DOCUMENT_DOWNLOADED = "document.downloaded", "Document downloaded"
    DOWNLOAD_ENDED = "document.download_ended", "Download ended"
    DOCUMENT_VIEWED = "document.viewed", "Document's page opened"
    DOCUMENT_IMPORTED = "document.imported", "Document imported"
    FILE_IMPORTED = "document.file_imported", "File imported"
    DOCUMENT_CHANGED = "document.changed", "Completed document changed"
    FILE_REPLACED = "document.file_replaced", "Sealed file replaced"
    FILE_DAMAGED = "document.file_damaged", "Damaged file found"
    EVIDENCE_EXPORTED = "document.evidence_exported", "Evidence exported"
    WORKSPACE_CREATED = "workspace.created", "Workspace created"
    PLAN_CHANGED = "workspace.plan_changed", "Plan changed"
    WORKSPACE_SUSPENDED = "workspace.suspended", "Workspace suspended"
    WORKSPACE_REINSTATED = "workspace.reinstated", "Workspace reinstated"
    MEMBER_ADDED = "member.added", "Member added"
    MEMBER_REMOVED = "member.removed", "Member removed"
    MEMBER_ROLE_CHANGED = "member.role_changed", "Member's role changed"
    INVITATION_CREATED = "invitation.created", "Invitation created"
    INVITATION_ACCEPTED = "invitation.accepted", "Invitation accepted"
    INVITATION_REVOKED = "invitation.revoked", "Invitation revoked"
    LOGIN = "login.succeeded", "Signed in"
    LOGOUT = "login.signed_out", "Signed out"
    LOGIN_FAILED = "login.failed", "Sign-in failed"
    SESSIONS_ENDED = "login.sessions_ended", "Sessions ended"
    ACCOUNT_CREATED = "account.created", "Account created"
    ACCOUNT_CHANGED = "account.changed", "Account changed"
    OPERATOR_MADE = "account.operator_made", "Made an operator"
    OPERATOR_ENDED = "account.operator_ended", "Rights of an operator ended"
    SUPPORT_MADE = "account.support_made", "Made support staff"
    SUPPORT_ENDED = "account.support_ended", "Rights of support staff ended"
    ACCOUNT_DELETED = "account.deleted", "Account deleted"
    PASSWORD_CHANGED = "account.password_changed", "Password changed"
    PASSWORD_CONFIRMED = "account.password_confirmed", "Password entered again"
    PASSWORD_REFUSED = "account.password_refused", "Password or code entered again, but wrong"
    PASSWORD_RESET_REQUESTED = "account.password_reset_requested", "Password reset requested"
    ADDRESS_CONFIRMED = "account.address_confirmed", "E-mail address confirmed"
    SECOND_FACTOR_ADDED = "account.second_factor_added", "Second factor set up"
    SECOND_FACTOR_REMOVED = "account.second_factor_removed", "Second factor removed"
    RECOVERY_CODES_MADE = "account.recovery_codes_made", "Recovery codes made"
    RECOVERY_CODE_USED = "account.recovery_code_used", "Recovery code used"
    LOG_EXPORTED = "audit.exported", "Audit log exported"
    LOG_EXPORT_ENDED = "audit.export_ended", "Export ended"
    LOG_VERIFIED = "audit.verified", "Audit log verified"
    LOG_DAMAGED = "audit.verification_failed", "Audit log is damaged"
    COMMAND_RUN = "command.run", "Command run"
    BACKUP_MADE = "backup.made", "Backup made"
    LOG_RESTORED = "audit.restored", "Audit log restored from a backup"


LABELS: dict[str, str] = {str(value): label for value, label in Action.choices}

# A filter on downloads fills a page quickly without an index, since nearly all entries are
# downloads. The indexes by action exclude them, to keep downloads cheap to insert.
DOWNLOADS = (Action.DOCUMENT_DOWNLOADED, Action.DOWNLOAD_ENDED)
NO_DOWNLOADS = ~models.Q(action__in=DOWNLOADS)
# What the list shows: the end of a download is part of the row of its start.
LISTED = ~models.Q(action=Action.DOWNLOAD_ENDED)
# Actions about which users get e-mails.
NOTIFIED = (
    Action.WEBHOOK_SWITCHED_OFF,
    Action.WORKSPACE_SUSPENDED,
    Action.WORKSPACE_REINSTATED,
    Action.PLAN_CHANGED,
    Action.MEMBER_ADDED,
    Action.MEMBER_ROLE_CHANGED,
    Action.EVIDENCE_EXPORTED,
    Action.LOG_EXPORTED,
    Action.OPERATOR_MADE,
    Action.SUPPORT_MADE,
)


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
    # When it happened, if that was recorded later: the end of a download, mostly.
    occurred_at = models.DateTimeField(null=True)
    action = models.CharField(max_length=40)  # an `Action`, which has the label
    workspace_id = models.UUIDField(null=True)  # None for a sign-in
    workspace_name = models.CharField(max_length=200, blank=True)
    person = models.CharField(
        max_length=254, blank=True
    )  # login of the user who did it; "" for a key
    member = models.CharField(max_length=254, blank=True)  # login of the member
    detail = models.CharField(max_length=1000, blank=True)  # "FREE → PRO", "all bytes sent"
    key_id = models.UUIDField(null=True)
    key_name = models.CharField(max_length=100, blank=True)
    key_prefix = models.CharField(max_length=PUBLIC_LENGTH, blank=True)
    document_id = models.UUIDField(null=True)
    document_title = models.CharField(max_length=500, blank=True)
    file_type = models.CharField(max_length=20, blank=True)  # original, signed, certificate
    file_sha256 = models.CharField(max_length=64, blank=True)  # hex digits, of the whole file
    byte_range = models.CharField(max_length=60, blank=True)  # "0-99/200"; "" for the whole file
    bytes_sent = models.BigIntegerField(null=True)  # of a download that ended
    address = models.CharField(max_length=45, blank=True)  # IPv4 or IPv6
    user_agent = models.CharField(max_length=500, blank=True)
    request_id = models.CharField(max_length=32, blank=True)

    class Meta:
        verbose_name_plural = "audit log"
        # Each query reads a range of one of these, newest first, from any position: each index
        # but one ends with (created_at, id). A download is two rows and nearly all of the log:
        # its end is only in the last one, and found by the request id of its start.
        indexes = [
            # All entries, and the filter by date.
            models.Index(*NEWEST_FIRST, condition=LISTED, name="audit_listed"),
            # A workspace's entries.
            models.Index(
                "workspace_id", *NEWEST_FIRST, condition=LISTED, name="audit_workspace_listed"
            ),
            # ?action__exact=…
            models.Index(
                "action", *NEWEST_FIRST, condition=NO_DOWNLOADS, name="audit_action_newest"
            ),
            # ?workspace_id__exact=…&action__exact=…, and the same for a workspace's own admins.
            models.Index(
                "workspace_id",
                "action",
                *NEWEST_FIRST,
                condition=NO_DOWNLOADS,
                name="audit_workspace_action",
            ),
            # ?document_id__exact=…, and a search for a document's id.
            models.Index(
                "document_id",
                *NEWEST_FIRST,
                condition=LISTED & models.Q(document_id__isnull=False),
                name="audit_document_listed",
            ),
            # ?key_id__exact=…, and a search for a key's id.
            models.Index("key_id", *NEWEST_FIRST, condition=LISTED, name="audit_key_listed"),
            # Which keys begin so: a search for a key's first characters.
            models.Index(
                "key_prefix", *NEWEST_FIRST, condition=NO_DOWNLOADS, name="audit_key_prefix_made"
            ),
            # A search for a login, in any case: of the user who did it …
            models.Index(
                folded("person"),
                *NEWEST_FIRST,
                condition=~models.Q(person=""),
                name="audit_person_listed",
            ),
            # … or the member.
            models.Index(
                folded("member"),
                *NEWEST_FIRST,
                condition=~models.Q(member=""),
                name="audit_member_listed",
            ),
            # A search for an address.
            models.Index(
                "address",
                *NEWEST_FIRST,
                condition=LISTED & ~models.Q(address=""),
                name="audit_address_listed",
            ),
            # New ones of these actions, which a process looks for every two seconds.
            models.Index(
                "created_at", condition=models.Q(action__in=NOTIFIED), name="audit_notified"
            ),
            # A search for a request id or its beginning: a handful of entries.
            models.Index("request_id", name="audit_request"),
        ]

    def __str__(self) -> str:
        return f"{self.action_label}, {self.created_at:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def action_label(self) -> str:
        """What happened, in words; the stored value if a later release has written it."""
        return LABELS.get(self.action, self.action)

    @property
    def key_label(self) -> str:
        """The key's name and prefix, as users know it; "" without a key."""
        return f"{self.key_name} ({self.key_prefix}…)" if self.key_prefix else ""


class Leaf(models.Model):
    """The leaf of an entry in the tree."""

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
    """A signed statement: so many leaves have this root.

    Every transaction that could still add an entry with an id up to `complete_to` has ended, and
    all entries up to it are sealed. `next_complete_to` takes its place when all transactions
    before `next_transaction` have ended.
    """

    size = models.BigIntegerField(primary_key=True)  # leaves
    sealed_at = models.DateTimeField()
    note = models.TextField()  # signed (`audit.sealing.note`)
    complete_to = models.BigIntegerField()
    next_complete_to = models.BigIntegerField()
    next_transaction = models.BigIntegerField()

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
