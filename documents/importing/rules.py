"""What each field takes, read off the models: nothing of it is written down a second time."""

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import connection, models

from documents.api.serializers import DOCUMENT_COLUMNS, RECIPIENT_COLUMNS
from documents.importing.problems import Place, shown
from documents.models import Document, Recipient

_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


class Refused(ValueError):
    """A value that a field does not take; the text says what it takes."""


@dataclass(frozen=True)
class Rule:
    """How the JSON value of one field becomes the value of its column.

    Attributes:
        read: raises Refused.
    """

    column: str
    nullable: bool
    optional: bool
    read: Callable[[Any], Any]


def _uuid(value: Any) -> UUID:
    if not isinstance(value, str) or not _UUID.fullmatch(value):
        raise Refused("takes a UUID, such as 0f8b6c0e-3f5e-4c57-9f0a-6d1f0c2b9a11")
    return UUID(value)


def _one_of(accepted: tuple[str, ...], value: Any) -> str:
    if not isinstance(value, str) or value not in accepted:
        quoted = f", not {shown(value)}" if isinstance(value, str) else ""
        raise Refused(f"takes one of {', '.join(accepted)}{quoted}")
    return value


def _moment(value: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(value)
        if moment.tzinfo is not None:
            return moment.astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        pass
    raise Refused("takes an ISO 8601 date and time with its offset, such as 2026-03-01T09:30:00Z")


def _integer(low: int, high: int, value: Any) -> int:
    # JSON's true is an int to Python.
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Refused(f"takes a whole number from {low} to {high}")
    return value


def read_text(length: int, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > length:
        raise Refused(f"takes a text of 1 to {length} characters")
    if "\0" in value or not _encodable(value):
        raise Refused("takes text without NUL characters and halves of surrogate pairs")
    return value


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _reader(field: "models.Field[Any, Any]") -> Callable[[Any], Any]:
    if field.choices:
        return partial(_one_of, tuple(value for value, _ in field.flatchoices))
    if isinstance(field, models.UUIDField):
        return _uuid
    if isinstance(field, models.DateTimeField):
        return _moment
    if isinstance(field, models.IntegerField):
        low, high = connection.ops.integer_field_range(field.get_internal_type())
        return partial(_integer, max(low, 0), high)  # all of them are counts
    if isinstance(field, models.CharField):
        return partial(read_text, field.max_length or 0)
    raise TypeError(f"{field} has no rule")


def _rule(model: type[models.Model], column: str) -> Rule:
    field: models.Field[Any, Any] = model._meta.get_field(column)  # type: ignore[assignment]
    optional = field.null or field.primary_key
    return Rule(column, field.null, optional, _reader(field))


def _rules(model: type[models.Model], columns: Iterable[str]) -> dict[str, Rule]:
    """The rules by the API's names, which are the columns' in camel case."""
    words = {column: column.split("_") for column in columns}
    return {
        first + "".join(word.capitalize() for word in rest): _rule(model, column)
        for column, (first, *rest) in words.items()
    }


def _email(rule: Rule, value: Any) -> str:
    address: str = rule.read(value)
    try:
        validate_email(address)
    except ValidationError:
        raise Refused(f"takes an e-mail address, not {shown(address)}") from None
    return address


def _file_name(rule: Rule, value: Any) -> str:
    name: str = rule.read(value)
    # Downloads carry it in a header, where a line break is an attack.
    if any(unicodedata.category(character) == "Cc" for character in name):
        raise Refused("takes a name without control characters")
    return name


def _document_rules() -> dict[str, Rule]:
    rules = _rules(Document, [*DOCUMENT_COLUMNS, "deleted_at"])
    # Read from the original when they are absent.
    for name in ("pageCount", "fileSize"):
        rules[name] = replace(rules[name], optional=True)
    rules["fileName"] = replace(rules["fileName"], read=partial(_file_name, rules["fileName"]))
    return rules


def _recipient_rules() -> dict[str, Rule]:
    rules = _rules(Recipient, RECIPIENT_COLUMNS)
    rules["email"] = replace(rules["email"], read=partial(_email, rules["email"]))
    return rules


DOCUMENT_RULES = _document_rules()
RECIPIENT_RULES = _recipient_rules()


def read_fields(
    value: dict[str, Any], rules: dict[str, Rule], place: Place, prefix: str = ""
) -> dict[str, Any]:
    """The columns of an object; a nullable field that is absent is null.

    A field that is wrong or missing is noted as a problem, and left out.

    Args:
        prefix: the path of the object in its document.
    """
    columns: dict[str, Any] = {}
    for name, rule in rules.items():
        given = value.get(name)
        if given is None and rule.nullable:
            columns[rule.column] = None
        elif name not in value:
            if not rule.optional:
                place.add(prefix + name, "is missing")
        else:
            try:
                columns[rule.column] = rule.read(given)
            except Refused as exc:
                place.add(prefix + name, str(exc))
    return columns
