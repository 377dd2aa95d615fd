"""The parameter `limit`: how many objects a page has."""

import re

from django.http import QueryDict

from config.api.errors import InvalidParameter
from config.api.parameters import single

LIMIT_DEFAULT = 25
LIMIT_MAX = 100  # objects a page
LIMIT_EXPECTED = f"a whole number from 1 to {LIMIT_MAX}"

_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


def limit(query: QueryDict) -> int:
    """The page size, 1 to 100."""
    value = single(query, "limit", LIMIT_EXPECTED)
    if value is None:
        return LIMIT_DEFAULT
    if not _WHOLE_NUMBER.fullmatch(value) or int(value) > LIMIT_MAX:
        raise InvalidParameter("limit", LIMIT_EXPECTED)
    return int(value)
