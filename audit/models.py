"""The audit history: entries that are only ever added."""

import pgtrigger
from django.db import models
from django.db.models.functions import Upper
from django.utils import timezone

NEWEST_FIRST = (models.F("created_at").desc(), models.F("id").desc())


class Action(models.TextChoices):
    """What an entry says has happened."""

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


# Nearly every entry is one of these, so that a walk along the newest entries soon finds a page of
# them; indexes by action leave them out and cost a download nothing.
DOWNLOADS = (Action.DOCUMENT_DOWNLOADED, Action.DOWNLOAD_ENDED)


class AuditEntry(models.Model):
    """One thing that happened, with copies of the names it speaks of.

    Ids and names are copied rather than referenced: deleting a key, a person or a workspace
    takes no history along, and a name in an entry stays what it was at that time.
    """

    created_at = models.DateTimeField(default=timezone.now)
    action = models.CharField(max_length=40, choices=Action)
    workspace_id = models.UUIDField(null=True)  # None for a sign-in, which is in none
    workspace_name = models.CharField(max_length=200, blank=True)
    person = models.CharField(max_length=254, blank=True)  # login of who did it, "" for a key
    member = models.CharField(max_length=254, blank=True)  # login of whose membership it is about
    detail = models.CharField(max_length=200, blank=True)  # "FREE → PRO", "complete"
    key_id = models.UUIDField(null=True)
    key_name = models.CharField(max_length=100, blank=True)
    key_prefix = models.CharField(max_length=12, blank=True)
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
        # Each query of the history is a walk along one of these, newest first, from any place in
        # it: (created_at, id) stands at the end of each but the last.
        indexes = [
            # Everybody's history, and its dates.
            models.Index(*NEWEST_FIRST, name="audit_newest"),
            # A workspace's history.
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
            # A document's trail: ?document_id__exact=…, or the id searched for.
            models.Index(
                "document_id",
                *NEWEST_FIRST,
                condition=models.Q(document_id__isnull=False),
                name="audit_document_newest",
            ),
            # A key's entries: ?key_id__exact=…, or the id searched for.
            models.Index("key_id", *NEWEST_FIRST, name="audit_key_newest"),
            # A key's first characters searched for.
            models.Index("key_prefix", *NEWEST_FIRST, name="audit_key_prefix_newest"),
            # A key's name searched for, in any case.
            models.Index(Upper("key_name"), *NEWEST_FIRST, name="audit_key_name_newest"),
            # A person searched for, in any case: who did it …
            models.Index(
                Upper("person"),
                *NEWEST_FIRST,
                condition=~models.Q(person=""),
                name="audit_person_newest",
            ),
            # … or whose membership it is about.
            models.Index(
                Upper("member"),
                *NEWEST_FIRST,
                condition=~models.Q(member=""),
                name="audit_member_newest",
            ),
            # A request's id searched for: a handful of entries.
            models.Index("request_id", name="audit_request"),
        ]
        triggers = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete)
        ]

    def __str__(self) -> str:
        return f"{self.get_action_display()}, {self.created_at:%Y-%m-%d %H:%M:%S} UTC"

    def key_label(self) -> str:
        """The key as people tell theirs apart: its name and first characters; "" for none."""
        return f"{self.key_name} ({self.key_prefix}…)" if self.key_prefix else ""
