"""Events: what happened to a document. Triggers write them (`events/triggers.sql`)."""

import uuid

from django.db import models
from django.db.models.functions import Now

KEEP_DAYS = 30  # that a cursor works after the last event before it; events are kept longer


class EventType(models.TextChoices):
    """What happened. A document without an event of its status has gone back to DRAFT."""

    CREATED = "document.created"  # added, restored, or moved here from another workspace
    # The document has this status when it is created, or changes to it. DRAFT has no event.
    SENT = "document.sent"
    VIEWED = "document.viewed"
    PARTIALLY_SIGNED = "document.partially_signed"
    COMPLETED = "document.completed"
    DECLINED = "document.declined"
    EXPIRED = "document.expired"
    CANCELLED = "document.cancelled"
    DELETED = "document.deleted"  # also removed from the table, or moved to another workspace


class Event(models.Model):
    """A row never changes. There are no foreign keys: events outlive their documents.

    Attributes:
        transaction: with the id, the event's position in the feed. It is the number of the
            transaction that changed the document. If an earlier event of the document has a
            greater one, it is that: the events of a document are in the order in which they
            happened.
    """

    transaction = models.BigIntegerField()
    uuid = models.UUIDField()  # the public id; without an index, since nothing looks for it
    workspace_id = models.UUIDField()
    type = models.CharField(max_length=30, choices=EventType)
    occurred_at = models.DateTimeField(db_default=Now())
    document_id = models.UUIDField()
    status = models.CharField(max_length=20)  # of the document, right after

    class Meta:
        indexes = [
            # GET /events: the next events of one type.
            models.Index("workspace_id", "type", "transaction", "id", name="event_next"),
            # The position of a document's last event.
            models.Index("document_id", "transaction", name="event_of_document"),
        ]

    def __str__(self) -> str:
        return f"{self.type} of {self.document_id}"


class Generation(models.Model):
    """Counts how often the numbers of transactions have started anew: after each restore.

    Cursors of an earlier generation are refused, since their positions mean nothing any more.
    """

    created_at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return str(self.pk)


def public_id(id: uuid.UUID) -> str:
    return f"evt_{id.hex}"
