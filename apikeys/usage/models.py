"""How much each key is used, from where, and which requests were refused and why.

There are no foreign keys: what a deleted key did remains, and writing needs no lock on keys.
"""

from datetime import datetime
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.contrib.postgres.indexes import GinIndex
from django.db import models

from audit.models import NEWEST_FIRST
from config.request.redaction import PUBLIC_LENGTH

TEXT_LENGTH = 500


def no_hours() -> list[int]:
    return [0] * 24


class KeyUsage(models.Model):
    """The requests of a key on a day (UTC); of pages, also of many keys or days."""

    pk = models.CompositePrimaryKey("key_id", "day")
    key_id = models.UUIDField()
    day = models.DateField()
    workspace_id = models.UUIDField()
    ok = models.BigIntegerField(default=0)  # 2xx and 3xx
    hours = ArrayField(models.BigIntegerField(), default=no_hours)  # the same, by hour
    errors = models.BigIntegerField(default=0)  # 4xx and 5xx, without 429
    limited = models.BigIntegerField(default=0)  # 429
    downloads = models.BigIntegerField(default=0)  # that started; they are in `ok` too
    busiest = models.BigIntegerField(default=0)  # requests in one minute, the most
    last_at = models.DateTimeField()  # of the last request, as are its address and its client
    address = models.CharField(max_length=45, blank=True)  # an ended key's network
    user_agent = models.CharField(max_length=TEXT_LENGTH, blank=True)

    class Meta:
        # The workspaces of one day, and the rows that are too old.
        indexes = [models.Index("day", "workspace_id", name="usage_day_workspace")]

    def __str__(self) -> str:
        return f"{self.key_id} on {self.day}"

    @property
    def requests(self) -> int:
        return self.ok + self.refused

    @property
    def refused(self) -> int:
        return self.errors + self.limited


class RefusedRequest(models.Model):
    """Responses of the API with a status of 400 or above, and the true reason for them.

    A row's requests are of one minute, of one key or of a network without a key, and have the same
    status, reason and path; its other columns are of the request that was written first. But
    `others` of them differ: those for which there was no row, and 503s of other paths.
    """

    created_at = models.DateTimeField()  # of the first response
    last_at = models.DateTimeField()
    requests = models.BigIntegerField(default=1)
    others = models.BigIntegerField(default=0)
    request_ids = ArrayField(models.UUIDField())
    status = models.PositiveSmallIntegerField()
    response_text = models.CharField(max_length=TEXT_LENGTH)  # what the client was told
    # Only that of a 401 or a 429 is for admins of the workspace too: others would say what exists
    # in another workspace, or what is wrong with our servers.
    reason = models.CharField(max_length=TEXT_LENGTH)
    key_id = models.UUIDField(null=True)
    key_name = models.CharField(max_length=100, blank=True)
    key_prefix = models.CharField(max_length=PUBLIC_LENGTH, blank=True)
    workspace_id = models.UUIDField(null=True)
    workspace_name = models.CharField(max_length=200, blank=True)
    address = models.CharField(max_length=45, blank=True)  # without a key, the network
    user_agent = models.CharField(max_length=TEXT_LENGTH, blank=True)
    method = models.CharField(max_length=20)
    path = models.CharField(max_length=TEXT_LENGTH)  # of a 400 or a 404, with its query
    # Of what was sent as a key, until the reason is found; no column. Its first characters are no
    # secret, so they do not prove that it was that key.
    sent_digest = ""

    class Meta:
        # Each list reads a range of one of these, newest first, from any position.
        indexes = [
            models.Index(*NEWEST_FIRST, name="refused_newest"),
            models.Index("status", *NEWEST_FIRST, name="refused_status"),
            models.Index("key_id", *NEWEST_FIRST, name="refused_key"),
            models.Index("key_id", "status", *NEWEST_FIRST, name="refused_key_status"),
            models.Index("workspace_id", *NEWEST_FIRST, name="refused_workspace"),
            models.Index("workspace_id", "status", *NEWEST_FIRST, name="refused_workspace_status"),
            models.Index("address", *NEWEST_FIRST, name="refused_address"),
            models.Index("key_prefix", *NEWEST_FIRST, name="refused_key_prefix"),
            GinIndex(fields=["request_ids"], name="refused_request"),
        ]

    def __str__(self) -> str:
        return f"{self.status} at {self.created_at:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def subject(self) -> tuple[UUID | str, datetime]:
        return self.key_id or self.address, self.created_at.replace(second=0, microsecond=0)
