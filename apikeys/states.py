"""The state of a key, which follows from its times: the only place that has the rule."""

from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils import timezone

if TYPE_CHECKING:
    from apikeys.models import ApiKey  # noqa: F401 - in the quotes below

WARNED_BEFORE = timedelta(days=14)  # an expiry
UNUSED_DAYS = 90  # after which a key may be one that was forgotten


def today() -> date:
    """The day in UTC."""
    return timezone.now().astimezone(UTC).date()


class State(models.TextChoices):
    """Whether a key works, as far as the key itself decides it; its workspace may not."""

    ACTIVE = "active", "Active"
    EXPIRES_SOON = "expiring", "Expires soon"
    EXPIRED = "expired", "Expired"
    REVOKED = "revoked", "Revoked"
    DELETED = "deleted", "Deleted"

    @property
    def has_ended(self) -> bool:
        """Whether the key is refused for good."""
        return self not in (State.ACTIVE, State.EXPIRES_SOON)

    @property
    def pill(self) -> str:
        """The class of its pill."""
        if self is State.ACTIVE:
            return "pill-ok"
        return "pill-warn" if self is State.EXPIRES_SOON else "pill-quiet"


def state_of(revoked_at: datetime | None, expires_at: datetime | None) -> State:
    """The state of a key that exists."""
    if revoked_at is not None:
        return State.REVOKED
    if expires_at is None:
        return State.ACTIVE
    left = expires_at - timezone.now()
    if left <= timedelta(0):
        return State.EXPIRED
    return State.EXPIRES_SOON if left <= WARNED_BEFORE else State.ACTIVE


# The same rule by the database's clock: as a condition of Django, and its opposite as a condition
# of SQL, where the key's row is `key`.
ENDED = Q(revoked_at__isnull=False) | Q(expires_at__isnull=False, expires_at__lte=Now())
IS_ACTIVE = (
    "key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp())"
)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    """Times are compared by the database's clock, as authentication does."""

    def active(self) -> "ApiKeyQuerySet":
        """Neither revoked nor expired."""
        return self.filter(~ENDED)

    def expiring(self) -> "ApiKeyQuerySet":
        """Active, and expiring within 14 days."""
        return self.active().filter(expires_at__lte=Now() + WARNED_BEFORE)

    def expired(self) -> "ApiKeyQuerySet":
        """Expired, and not revoked."""
        return self.filter(ENDED, revoked_at=None)

    def unused(self) -> "ApiKeyQuerySet":
        """Active, older than 90 days, and not used for 90 days."""
        long_ago = Now() - timedelta(days=UNUSED_DAYS)
        return self.active().filter(
            Q(last_used_at=None) | Q(last_used_at__lt=long_ago), created_at__lt=long_ago
        )
