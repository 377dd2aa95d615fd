"""Reads query parameters; an invalid one is a 400.

A parameter must not be empty or given twice. Unknown parameters are ignored.
"""

from django.http import QueryDict

from config.api.errors import InvalidParameter


def single(query: QueryDict, name: str, expected: str) -> str | None:
    """The parameter's only value; None if it is not given."""
    values = query.getlist(name)
    if len(values) > 1:
        raise InvalidParameter(name, expected, "is given more than once")
    if values == [""]:
        raise InvalidParameter(name, expected, "is empty")
    return values[0] if values else None


def one_of(query: QueryDict, name: str, accepted: tuple[str, ...]) -> str | None:
    """One of the accepted values; None if it is not given."""
    expected = f"one of {', '.join(accepted)}"
    value = single(query, name, expected)
    if value is not None and value not in accepted:
        raise InvalidParameter(name, expected)
    return value
