"""The audit history: entries that are only ever added."""

import pgtrigger
from django.db import models
from django.utils import timezone


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
        verbose_name_plural = "audit entries"
        indexes = [
            # A workspace's history, newest first.
            models.Index(
                "workspace_id",
                models.F("created_at").desc(),
                models.F("id").desc(),
                name="audit_workspace_newest",
            ),
            # A document's trail, newest first.
            models.Index(
                "document_id",
                models.F("created_at").desc(),
                models.F("id").desc(),
                condition=models.Q(document_id__isnull=False),
                name="audit_document_newest",
            ),
        ]
        triggers = [
            pgtrigger.Protect(name="append_only", operation=pgtrigger.Update | pgtrigger.Delete)
        ]

    def __str__(self) -> str:
        return f"{self.created_at:%Y-%m-%d %H:%M:%S} {self.get_action_display()}"
