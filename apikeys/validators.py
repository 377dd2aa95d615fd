"""The rules for a key's name and note. Audit entries keep what they were at the time."""

import unicodedata

from django.core.exceptions import ValidationError

from config.runtime.key_format import contains_raw_key

LENGTH, NOTE_LENGTH = 100, 200  # characters

# Control characters, line breaks, and characters that change or hide the text around them.
_FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # allowed: they join letters in some scripts, and emoji


def clean(name: str) -> str:
    """The name without surrounding whitespace.

    Raises:
        ValidationError: it is empty, longer than 100 characters, or has control characters or an
            API key in it.
    """
    if not 1 <= len(name.strip()) <= LENGTH:
        raise ValidationError(f"A name must have 1 to {LENGTH} characters.")
    return _checked("name", name.strip())


def clean_note(note: str) -> str:
    """As `clean`; a note may be empty, and has at most 200 characters."""
    if len(note.strip()) > NOTE_LENGTH:
        raise ValidationError(f"A note must have at most {NOTE_LENGTH} characters.")
    return _checked("note", note.strip())


def _checked(what: str, text: str) -> str:
    if any(unicodedata.category(c) in _FORBIDDEN and c not in _JOINERS for c in text):
        raise ValidationError(f"A {what} must not contain line breaks or other control characters.")
    if contains_raw_key(text):
        raise ValidationError(
            f"A {what} must not contain an API key. Enter what the key is for, and revoke the key "
            f"that is in this {what}: others may have seen it."
        )
    return text
