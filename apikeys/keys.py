"""A key: how it is generated and hashed, what it may be called, and whether it works."""

import hashlib
import re
import unicodedata
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now
from django.utils.crypto import get_random_string

from config.request.redaction import CHARACTER, PREFIX, PUBLIC_LENGTH, contains_raw_key

SECRET_LENGTH = 40  # characters; 40 × log2(62) ≈ 238 bits, of which 190 stay secret
NAME_LENGTH = 100
MOST_ACTIVE = 100  # keys of a workspace: each has its own rate limit and connections in nginx
WARNED_BEFORE = timedelta(days=14)  # an expiry

FORM = re.compile(rf"{PREFIX}{CHARACTER}{{{SECRET_LENGTH}}}")
_MOST_OF_A_KEY = re.compile(rf"{PREFIX}{CHARACTER}{{30}}")
# Control characters, line breaks, and characters that change or hide the text around them.
_FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # allowed: they join letters in some scripts, and emoji


def generate() -> str:
    return PREFIX + get_random_string(SECRET_LENGTH)  # a double click selects the whole key


def digest(raw: str) -> str:
    """SHA-256 of the raw key, 64 hex digits: the only form that is stored.

    A fast hash is enough, since a random key cannot be guessed.
    """
    return hashlib.sha256(raw.encode()).hexdigest()


def loggable(raw: str) -> str | None:
    """The public part of what was sent as a key, also one cut short; None if it is anything else.

    Of any other text, even its first characters may be a secret.
    """
    return raw[:PUBLIC_LENGTH] if _MOST_OF_A_KEY.match(raw) else None


def clean_name(name: str) -> str:
    """The name without surrounding whitespace. Audit entries keep what it was at the time.

    Raises ValidationError if it is empty, has more than 100 characters, control characters, or an
    API key in it.
    """
    name = name.strip()
    if not 1 <= len(name) <= NAME_LENGTH:
        raise ValidationError(f"A name must have 1 to {NAME_LENGTH} characters.")
    if any(unicodedata.category(c) in _FORBIDDEN and c not in _JOINERS for c in name):
        raise ValidationError("A name must not contain line breaks or other control characters.")
    if contains_raw_key(name):
        raise ValidationError(
            "A name must not contain an API key. Enter what the key is for, and revoke the key "
            "that is in this name: others may have seen it."
        )
    return name


# --- Whether it works: one rule, as a condition of Django, of SQL, and in `ApiKey.state`


class State(models.TextChoices):
    """Whether a key works. Its workspace may be refused all the same."""

    ACTIVE = "active", "Active"
    EXPIRES_SOON = "expiring", "Expires soon"
    EXPIRED = "expired", "Expired"
    ROLLED = "rolled", "Rolled"
    REVOKED = "revoked", "Revoked"

    @property
    def has_ended(self) -> bool:
        return self in (State.EXPIRED, State.ROLLED, State.REVOKED)

    @property
    def colour(self) -> str:
        return {State.ACTIVE: "ok", State.EXPIRES_SOON: "warn"}.get(self, "")


# By the database's clock; in SQL the opposite, where the key's row is `key`.
ENDED = Q(revoked_at__isnull=False) | Q(expires_at__isnull=False, expires_at__lte=Now())
IS_ACTIVE = (
    "key.revoked_at IS NULL AND (key.expires_at IS NULL OR key.expires_at > statement_timestamp())"
)
