"""What a key may be called. Audit entries speak of the name, so it never changes."""

import unicodedata

from django.core.exceptions import ValidationError

LENGTH = 100  # characters

# Controls, line ends, and what turns or hides the text around it in a list or an export.
_FORBIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
_JOINERS = "\u200c\u200d"  # of letters in some scripts, and of emoji


def clean(name: str) -> str:
    """The name without surrounding white space.

    Raises:
        ValidationError: it is empty, longer than 100 characters, or has control characters.
    """
    name = name.strip()
    if not 1 <= len(name) <= LENGTH:
        raise ValidationError(f"A name takes 1 to {LENGTH} characters.")
    if any(unicodedata.category(c) in _FORBIDDEN and c not in _JOINERS for c in name):
        raise ValidationError("A name takes no line ends or other control characters.")
    return name
