"""How much each key is used, from where, and which requests were refused and why.

No foreign key has a constraint: what a deleted key did remains, and writing needs no lock on keys.
`apikeys.usage.flusher` writes all of it, and `apikeys.usage.report` reads it.
"""

from django.db import models

from apikeys.models import ApiKey
from audit.models import NEWEST_FIRST
from config.runtime.key_format import PUBLIC_LENGTH
from workspaces.models import label

ADDRESSES_KEPT = 50  # of each key, those that were seen last

REQUEST_ID_SHORT = 8  # characters, as lists show it


class KeyUsage(models.Model):
    """The requests of one key on one day (UTC), by what the response was."""

    pk = models.CompositePrimaryKey("key_id", "day")
    key_id = models.UUIDField()
    day = models.DateField()
    workspace_id = models.UUIDField()
    ok = models.BigIntegerField()  # 2xx and 3xx
    errors = models.BigIntegerField()  # 4xx and 5xx, without 429
    limited = models.BigIntegerField()  # 429
    downloads = models.BigIntegerField()  # that started; they are in `ok` too

    class Meta:
        indexes = [
            # The workspaces of one day, and the rows that are too old.
            models.Index("day", "workspace_id", name="usage_day_workspace"),
        ]

    def __str__(self) -> str:
        return f"{self.key_id} on {self.day}"


class KeyAddress(models.Model):
    """An address that a key was used from."""

    pk = models.CompositePrimaryKey("key_id", "address")
    key_id = models.UUIDField()
    address = models.CharField(max_length=45)  # IPv4 or IPv6
    user_agent = models.CharField(max_length=500, blank=True)  # the last one
    first_seen = models.DateTimeField()
    last_seen = models.DateTimeField()
    requests = models.BigIntegerField()

    def __str__(self) -> str:
        return f"{self.key_id} from {self.address}"


class RefusedRequest(models.Model):
    """A response of the API with a status of 400 or above, and its true reason.

    A flood is counted, not stored: `more` is the number of requests like this one in its minute
    that have no row.

    Attributes:
        digest: SHA-256 of what was sent as a key, if it is not a valid one. It is not stored.
    """

    digest = ""

    created_at = models.DateTimeField()  # of the response
    request_id = models.CharField(max_length=32)
    status = models.PositiveSmallIntegerField()
    response_text = models.CharField(max_length=500)  # what the client was told
    # What the reason is worded from (`apikeys.usage.reasons`): the error's code, of a 503 the cause
    # in the log, of a 401 what is wrong with the key. "" in rows of 1.0.0, whose reason is worded.
    cause = models.CharField(max_length=50, blank=True, db_default="")
    reason = models.CharField(max_length=500)  # as in the log; of a 402 the plan
    more = models.BigIntegerField(default=0)
    # Neither this key nor the document needs to exist. `Meta.indexes` has their indexes.
    key = models.ForeignKey(
        ApiKey, models.DO_NOTHING, null=True, db_constraint=False, db_index=False, related_name="+"
    )
    key_name = models.CharField(max_length=100, blank=True)
    key_prefix = models.CharField(max_length=PUBLIC_LENGTH, blank=True)
    workspace_id = models.UUIDField(null=True)
    workspace_name = models.CharField(max_length=200, blank=True)
    document = models.ForeignKey(  # that the path names
        "documents.Document",
        models.DO_NOTHING,
        null=True,
        db_constraint=False,
        db_index=False,
        related_name="+",
    )
    address = models.CharField(max_length=45, blank=True)
    user_agent = models.CharField(max_length=500, blank=True)
    method = models.CharField(max_length=20)
    path = models.CharField(max_length=500)

    class Meta:
        verbose_name = "refused request"
        # Each list reads a range of one of these, newest first, from any position.
        indexes = [
            models.Index(*NEWEST_FIRST, name="refused_newest"),
            models.Index("status", *NEWEST_FIRST, name="refused_status"),
            models.Index("key_id", *NEWEST_FIRST, name="refused_key"),
            models.Index("key_id", "status", *NEWEST_FIRST, name="refused_key_status"),
            models.Index("workspace_id", *NEWEST_FIRST, name="refused_workspace"),
            models.Index("workspace_id", "status", *NEWEST_FIRST, name="refused_workspace_status"),
            models.Index("address", *NEWEST_FIRST, name="refused_address"),
            models.Index("key_prefix", *NEWEST_FIRST, name="refused_prefix"),
            # What exists, without the noise of unknown clients.
            models.Index(
                *NEWEST_FIRST, condition=models.Q(key_id__isnull=False), name="refused_of_keys"
            ),
            models.Index(
                "document_id",
                *NEWEST_FIRST,
                condition=models.Q(document_id__isnull=False),
                name="refused_document",
            ),
            # Keys that are still tried although they were revoked or deleted, or mistyped.
            models.Index(
                *NEWEST_FIRST,
                condition=models.Q(status=401, key_id__isnull=False),
                name="refused_known_key",
            ),
            # A whole request id, or its first characters.
            models.Index(
                fields=["request_id"], name="refused_request", opclasses=["varchar_pattern_ops"]
            ),
        ]

    def __str__(self) -> str:
        return f"{self.status}, {self.created_at:%Y-%m-%d %H:%M:%S} UTC"

    @property
    def workspace_label(self) -> str:
        """The workspace's name and the first characters of its id; "" without one."""
        return label(self.workspace_id, self.workspace_name) if self.workspace_id else ""


class Traffic(models.Model):
    """The requests of five minutes to all instances that took about as long."""

    pk = models.CompositePrimaryKey("period", "milliseconds")
    period = models.DateTimeField()  # when it begins
    milliseconds = models.PositiveIntegerField()  # that they took at most
    requests = models.BigIntegerField()
    failed = models.BigIntegerField()  # 5xx

    def __str__(self) -> str:
        return f"{self.requests} requests within {self.milliseconds} ms"


class FlushedBatch(models.Model):
    """Nothing here uses it: the next release drops the table.

    During an upgrade, processes of the release before still write it, so they need its privileges.
    """

    pk = models.CompositePrimaryKey("process", "kind")
    process = models.UUIDField()
    kind = models.CharField(max_length=20)
    number = models.BigIntegerField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.kind} {self.number} of {self.process}"
