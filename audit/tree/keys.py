"""The keys of the checkpoints, from the environment."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from audit.tree.note import NoteError, PrivateKey, PublicKey


def signing_key() -> PrivateKey:
    """The key that signs.

    Raises:
        ImproperlyConfigured: AUDIT_SIGNING_KEY is not set or not valid.
    """
    if not settings.AUDIT_SIGNING_KEY:
        raise ImproperlyConfigured(
            "AUDIT_SIGNING_KEY is not set. `manage.py make_audit_key NAME` makes a key."
        )
    try:
        return PrivateKey.parse(settings.AUDIT_SIGNING_KEY)
    except NoteError as exc:
        raise ImproperlyConfigured(f"AUDIT_SIGNING_KEY is not valid: {exc}.") from exc


def public_keys() -> list[PublicKey]:
    """All keys that may have signed: AUDIT_PUBLIC_KEYS, and the one of AUDIT_SIGNING_KEY.

    Raises:
        ImproperlyConfigured: there is none, or one is not valid.
    """
    try:
        found = [PublicKey.parse(text) for text in settings.AUDIT_PUBLIC_KEYS]
    except NoteError as exc:
        raise ImproperlyConfigured(f"AUDIT_PUBLIC_KEYS is not valid: {exc}.") from exc
    if settings.AUDIT_SIGNING_KEY and (own := signing_key().public) not in found:
        found.append(own)
    if not found:
        raise ImproperlyConfigured(
            "AUDIT_PUBLIC_KEYS is not set; `manage.py make_audit_key` printed it."
        )
    return found
