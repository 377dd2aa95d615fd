"""The form of an API key, as far as the admin, the search, the log and imports need it."""

import re

PREFIX = "dtd_"
PUBLIC_LENGTH = 12  # first characters, `dtd_` included, that lists and logs show
_PUBLIC_PART = re.compile(rf"{PREFIX}[A-Za-z0-9]{{{PUBLIC_LENGTH - len(PREFIX)}}}")
# A key, or more of it than its public part, which is group 1.
_RAW_KEY = re.compile(rf"({_PUBLIC_PART.pattern})[A-Za-z0-9]+")


def contains_raw_key(text: str) -> bool:
    """Whether the text has a raw key in it, or more of one than its public part."""
    return _RAW_KEY.search(text) is not None


def public_part(text: str) -> str:
    """The public part of a key in the text, which may have all of the key; "" without one."""
    found = _PUBLIC_PART.search(text)
    return found[0] if found else ""


def cut_raw_keys(text: str) -> str:
    """The text with each raw key cut to its public part."""
    # Hardly any text has the prefix, and the search for it takes a tenth of the time.
    return _RAW_KEY.sub(lambda key: f"{key[1]}…", text) if PREFIX in text else text
