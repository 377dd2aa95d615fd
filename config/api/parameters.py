"""The query parameters of a request.

One must not be empty or given twice: an invalid one is a 400. Unknown ones are ignored.
"""

import re
from urllib.parse import parse_qsl

from django.http import HttpRequest, QueryDict

from config.api.errors import InvalidParameter

LIMIT_DEFAULT = 25
LIMIT_MAX = 100  # objects a page
LIMIT_EXPECTED = f"a whole number from 1 to {LIMIT_MAX}"

# Those with values of these kinds; of others, such as a title, the value may name a person.
_NAMELESS = re.compile(
    "status|recipientStatus|type|sort|limit|(created|sent|completed|expires)(From|Before)"
)
_WHOLE_NUMBER = re.compile(r"[1-9][0-9]{0,2}")


def single(query: QueryDict, name: str, expected: str) -> str | None:
    values = query.getlist(name)
    if len(values) > 1:
        raise InvalidParameter(name, expected, "is given more than once")
    if values == [""]:
        raise InvalidParameter(name, expected, "is empty")
    return values[0] if values else None


def one_of(query: QueryDict, name: str, accepted: tuple[str, ...]) -> str | None:
    expected = f"one of {', '.join(accepted)}"
    value = single(query, name, expected)
    if value is not None and value not in accepted:
        raise InvalidParameter(name, expected)
    return value


def limit(query: QueryDict) -> int:
    value = single(query, "limit", LIMIT_EXPECTED)
    if value is None:
        return LIMIT_DEFAULT
    if not _WHOLE_NUMBER.fullmatch(value) or int(value) > LIMIT_MAX:
        raise InvalidParameter("limit", LIMIT_EXPECTED)
    return int(value)


def without_names(request: HttpRequest) -> str:
    """The query from `?` on, decoded, without values that may name a person; "" without one.

    What begins beyond 1,000 characters is left out.
    """
    sent = parse_qsl(request.META.get("QUERY_STRING", "")[:1000], keep_blank_values=True)
    shown = (f"{name}={value if _NAMELESS.fullmatch(name) else '…'}" for name, value in sent)
    return f"?{'&'.join(shown)}" if sent else ""
