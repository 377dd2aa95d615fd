"""The audit log: entries can only be added."""

import pgtrigger
from django.db import models
from django.db.models.functions import Upper
from django.utils import timezone

from config.key_format import PUBLIC_LENGTH

NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())


class Action(models.TextChoices):
    """What happened."""

    KEY_CREATED = "key.created", "API key created"
    KEY_REVOKED = "key.revoked", "API key revoked"
    KEY_DELETED = "key.deleted", "API key deleted"
    DOCUMENT_DOWNLOADED = "document.downloaded", "Document downloaded"
    DOWNLOAD_ENDED = "document.download_ended", "Download ended"
    PLAN_CHANGED = "workspace.plan_changed", "Plan changed"
    WORKSPACE_SUSPENDED = "workspace.suspended", "Workspace suspended"
    WORKSPACE_REINSTATED = "workspace.reinstated", "Workspace reinstated"
    MEMBER_ADDED = "member.added", "Member added"
    MEMBER_REMOVED = "member.removed", "Member removed"
    MEMBER_ROLE_CHANGED = "member.role_changed", "Member's role changed"
    LOGIN = "login.succeeded", "Signed in"
    LOGIN_FAILED = "login.failed", "Sign-in failed"


# A filter on downloads fills a page quickly without an index, since nearly all entries are
# downloads. The indexes by action exclude them, to keep downloads cheap to insert.
DOWNLOADS = (Action.DOCUMENT_DOWNLOADED, Action.DOWNLOAD_ENDED)


class AuditEntry(models.Model):
    """One thing that happened, with copies of the ids and names.

    There are no foreign keys: deleting a key, a user or a workspace deletes no entries, and a name
    in an entry stays what it was at that time.
    """

    PRIVILEGES = "SELECT, INSERT"  # of the role that serves (`config.postgresql.roles`)

    created_at = models.DateTimeField(default=timezone.now)
    action = models.CharField(max_length=40, choices=Action)
    workspace_id = models.UUIDField(null=True)  # None for a sign-in
    workspace_name = models.CharField(max_length=200, blank=True)
    person = models.CharField(
        max_length=254, blank=True
    )  # login of the user who did it; "" for a key
    member = models.CharField(max_length=254, blank=True)  # login of the member
    detail = models.CharField(max_length=200, blank=True)  # "FREE → PRO", "complete"
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
        # but the last one ends with (created_at, id).
        indexes = [
            # All entries, and the filter by date.
            models.Index(*NEWEST_FIRST, name="audit_newest"),
            # A workspace's entries.
            models.Index("workspace_id", *NEWEST_FIRST, name="audit_workspace_newest"),
            # ?action__exact=…
            models.Index(
                "action",
                *NEWEST_FIRST,
                condition=~models.Q(action__in=DOWNLOADS),
                name="audit_action_newest",
            ),
            # ?workspace_id__exact=…&action__exact=…, and the same for a workspace's own admins.
            models.Index(
                "workspace_id",
                "action",
                *NEWEST_FIRST,
                condition=~models.Q(action__in=DOWNLOADS),
                name="audit_workspace_action",
            ),
            # ?document_id__exact=…, and a search for a document's id.
            models.Index(
                "document_id",
                *NEWEST_FIRST,
                condition=models.Q(document_id__isnull=False),
                name="audit_document_newest",
            ),
            # ?key_id__exact=…, and a search for a key's id.
            models.Index("key_id", *NEWEST_FIRST, name="audit_key_newest"),
            # A search for a key's prefix.
            models.Index("key_prefix", *NEWEST_FIRST, name="audit_key_prefix_newest"),
            # A search for a key's name, in any case.
            models.Index(Upper("key_name"), *NEWEST_FIRST, name="audit_key_name_newest"),
            # A search for a user, in any case: the one who did it …
            models.Index(
                Upper("person"),
                *NEWEST_FIRST,
                condition=~models.Q(person=""),
                name="audit_person_newest",
            ),
            # … or the member.
            models.Index(
                Upper("member"),
                *NEWEST_FIRST,
                condition=~models.Q(member=""),
                name="audit_member_newest",
            ),
            # A search for a request id: a handful of entries.
            models.Index("request_id", name="audit_request"),
        ]
        triggers = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete)
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()}, {self.created_at:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def short_request_id(self) -> str:
        """The first 8 characters, for lists."""
        return f"{self.request_id[:8]}…" if self.request_id else ""

    @property
    def key_label(self) -> str:
        """The key's name and prefix, as users know it; "" without a key."""
        return f"{self.key_name} ({self.key_prefix}…)" if self.key_prefix else ""


# All but the id.
COLUMNS = [field.attname for field in AuditEntry._meta.concrete_fields if field.attname != "id"]
