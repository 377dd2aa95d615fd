"""The rules for a key's name. It never changes, since audit entries contain it."""

import unicodedata

from django.core.exceptions import ValidationError

from config.key_format import contains_raw_key

LENGTH = 100  # characters

# Control characters, line breaks, and characters that change or hide the text around them.
_FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # allowed: they join letters in some scripts, and emoji


def clean(name: str) -> str:
    """The name without surrounding whitespace.

    Raises:
        ValidationError: it is empty, longer than 100 characters, or has control characters or an
            API key in it.
    """
    name = name.strip()
    if not 1 <= len(name) <= LENGTH:
        raise ValidationError(f"A name must have 1 to {LENGTH} characters.")
    if any(unicodedata.category(c) in _FORBIDDEN and c not in _JOINERS for c in name):
        raise ValidationError("A name must not contain line breaks or other control characters.")
    if contains_raw_key(name):
        raise ValidationError(
            "A name must not contain an API key. Enter what the key is for, and revoke the key "
            "that is in this name: others may have seen it."
        )
    return name
