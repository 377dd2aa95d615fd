"""Endpoints of webhooks, and the deliveries to them.

A trigger on the events adds the deliveries, in the transaction that changes the document.
"""

import uuid
from urllib.parse import urlsplit

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.text import Truncator

from audit.models import NEWEST_FIRST
from events.models import EventType, public_id
from events.webhooks.policy import LABEL_LENGTH
from workspaces.models import Workspace

RESPONSE_LENGTH = 1000  # characters of a response that are kept
TEST_EVENT = "webhook.test"


class EndpointQuerySet(models.QuerySet["Endpoint"]):
    def existing(self) -> "EndpointQuerySet":
        return self.filter(deleted_at=None).select_related("workspace")

    def failing(self) -> "EndpointQuerySet":
        """Those that fail now, the longest first."""
        failing = self.existing().filter(enabled=True, failing_since__isnull=False)
        return failing.order_by("failing_since")

    def behind(self) -> "EndpointQuerySet":
        """Those that do not fail now, though some that have failed wait to be sent again."""
        waits = Delivery.objects.filter(PENDING, UNDELIVERED, endpoint=OuterRef("pk"))
        return self.existing().filter(Exists(waits), enabled=True, failing_since=None)


class Endpoint(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    workspace = models.ForeignKey(Workspace, models.CASCADE, related_name="endpoints")
    url = models.CharField(max_length=500)
    label = models.CharField(max_length=LABEL_LENGTH, blank=True)
    types = ArrayField(models.CharField(max_length=30, choices=EventType))
    enabled = models.BooleanField(default=True)
    disabled_reason = models.CharField(max_length=200, blank=True)  # if no user did it
    disabled_at = models.DateTimeField(null=True)
    # The first failed attempt since the last that succeeded, or since no delivery was being tried.
    failing_since = models.DateTimeField(null=True)
    secret = models.CharField(max_length=500)  # encrypted (`events.webhooks.secrets`)
    previous_secret = models.CharField(max_length=500, blank=True)
    previous_secret_until = models.DateTimeField(null=True)  # until then, both sign
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True)  # its deliveries stay for support

    objects = EndpointQuerySet.as_manager()

    class Meta:
        indexes = [
            # The endpoints that receive an event.
            models.Index(
                "workspace", condition=Q(enabled=True, deleted_at=None), name="endpoint_enabled"
            ),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def public_url(self) -> str:
        """Without what follows the host: it may be a secret."""
        parts = urlsplit(self.url)
        follows = "" if parts.path in ("", "/") and not parts.query else "…"
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/{follows}"

    @property
    def name(self) -> str:
        """The label, or what is public: a host may have several webhooks."""
        return self.label or f"{Truncator(self.public_url).chars(60)} {str(self.pk)[:8]}"

    @property
    def has_two_secrets(self) -> bool:
        until = self.previous_secret_until
        return bool(self.previous_secret and until and until > timezone.now())


class DeliveryState(models.TextChoices):
    PENDING = "PENDING", "Pending, retrying"
    DELIVERED = "DELIVERED", "Delivered"
    FAILED = "FAILED", "Failed"


PENDING = Q(state=DeliveryState.PENDING)
# Not delivered, and the last attempt has failed: given up, or waiting for the next one.
FAILING = Q(state__in=(DeliveryState.PENDING, DeliveryState.FAILED), failures__gt=0)
# A test that failed is sent again by another test.
UNDELIVERED = FAILING & ~Q(type=TEST_EVENT)


class Delivery(models.Model):
    """One event for one endpoint, with a copy of the event."""

    # The index delivery_newest begins with the endpoint.
    endpoint = models.ForeignKey(
        Endpoint, models.CASCADE, related_name="deliveries", db_index=False
    )
    workspace_id = models.UUIDField()  # the endpoint's, which does not change
    event_id = models.UUIDField()
    type = models.CharField(max_length=30)
    occurred_at = models.DateTimeField()
    document_id = models.UUIDField()
    status = models.CharField(max_length=20)
    sequence = models.BigIntegerField()  # the order of the events of one document
    state = models.CharField(max_length=10, choices=DeliveryState, default=DeliveryState.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)  # that have ended
    # Failed attempts of the present schedule (`policy.DELAYS`).
    failures = models.PositiveSmallIntegerField(db_default=0)
    next_attempt_at = models.DateTimeField(null=True, db_default=Now())  # None: not pending
    # Of the process that is making an attempt. After `claimed_until`, any process may claim it.
    claim = models.UUIDField(null=True)
    claimed_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        indexes = [
            # What is due for each endpoint, in the order in which it is attempted.
            models.Index(
                "endpoint", "next_attempt_at", "id", condition=PENDING, name="delivery_due"
            ),
            # How many attempts are being made for each endpoint.
            models.Index(
                "endpoint",
                "claimed_until",
                condition=Q(claimed_until__isnull=False),
                name="delivery_claimed",
            ),
            # Whether an earlier event of the document still waits for its first attempt.
            models.Index(
                "endpoint",
                "document_id",
                "sequence",
                condition=PENDING & Q(attempts=0),
                name="delivery_first_attempt",
            ),
            # An endpoint's deliveries, newest first, and those in one state.
            models.Index("endpoint", *NEWEST_FIRST, name="delivery_newest"),
            models.Index("endpoint", "state", *NEWEST_FIRST, name="delivery_state_newest"),
            # The same of a workspace, and of all workspaces.
            models.Index("workspace_id", *NEWEST_FIRST, name="delivery_workspace"),
            models.Index(*NEWEST_FIRST, name="delivery_all"),
            # A search for an event's id.
            models.Index("event_id", name="delivery_event"),
        ]

    def __str__(self) -> str:
        return f"{self.type} to {self.endpoint_id}"

    @property
    def workspace_name(self) -> str:
        return self.endpoint.workspace.name

    @property
    def public_event_id(self) -> str:
        return public_id(self.event_id)


class Attempt(models.Model):
    # The constraint's index begins with the delivery.
    delivery = models.ForeignKey(
        Delivery, models.CASCADE, related_name="attempt_set", db_index=False
    )
    number = models.PositiveSmallIntegerField()  # from 1
    started_at = models.DateTimeField()
    milliseconds = models.PositiveIntegerField()
    status = models.PositiveSmallIntegerField(null=True)  # None without a response
    response = models.CharField(max_length=RESPONSE_LENGTH, blank=True)  # its beginning
    error = models.CharField(max_length=200, blank=True)  # why there was no response
    retry_after = 0  # seconds that the response asks for; they are not stored

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["delivery", "number"], name="attempt_number")
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.delivery_id}"

    @property
    def succeeded(self) -> bool:
        return self.status is not None and 200 <= self.status < 300

    @property
    def outcome(self) -> str:
        """ "200 in 31 ms", or why there was no response."""
        if self.status is None:
            return self.error
        text = f"{self.status} in {self.milliseconds:,} ms"
        return f"{text}. Redirects are not followed." if 300 <= self.status < 400 else text
