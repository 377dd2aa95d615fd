"""The form of an API key, as far as the admin, the search, the log and imports need it."""

import re

PREFIX = "dtd_"
PUBLIC_LENGTH = 12  # first characters, `dtd_` included, that lists and logs show
# More than the public part of a key, which is its group 1.
RAW_KEY = re.compile(rf"({PREFIX}[A-Za-z0-9]{{{PUBLIC_LENGTH - len(PREFIX)}}})[A-Za-z0-9]+")


def contains_raw_key(text: str) -> bool:
    """Whether the text has a raw key in it, or more of one than its public part."""
    return RAW_KEY.search(text) is not None
