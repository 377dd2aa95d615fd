"""Days and times as people type them into filters; all of them are UTC."""

import contextlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

# Each form with what it names, and how long that is.
_FORMS = (
    ("%Y-%m-%d", "Day", timedelta(days=1)),
    ("%Y-%m-%d %H", "Hour", timedelta(hours=1)),
    ("%Y-%m-%d %H:%M", "Minute", timedelta(minutes=1)),
    ("%Y-%m-%d %H:%M:%S", "Second", timedelta(seconds=1)),
)
_MICROSECOND = timedelta(microseconds=1)


@dataclass(frozen=True)
class Span:
    """A day, an hour, a minute or a second."""

    first: datetime
    last: datetime  # its last microsecond
    unit: str
    text: str

    def __str__(self) -> str:
        return self.text


def parse(text: str) -> Span:
    """The time that a text names: `2026-11-21`, `2026-11-21 14:05`, `2026-11-21T14:05:30Z`."""
    plain = text.strip().removesuffix("UTC").removesuffix("Z").strip().replace("T", " ")
    for form, unit, length in _FORMS:
        with contextlib.suppress(ValueError):
            first = datetime.strptime(plain, form).replace(tzinfo=UTC)
            # Not first + length: the last day has no next one.
            return Span(first, first + (length - _MICROSECOND), unit, plain)
    raise ValidationError("This is not a time. Write one as 2026-03-01 or 2026-03-01 14:00.")


class SpanField(forms.CharField):
    """A time in UTC, which begins or ends a range; the whole of the day or minute that it names.

    `times.js` shows it in the reader's own zone.

    Args:
        edge: what the control shows of it: "first" or "last".
    """

    def __init__(self, label: str, edge: str) -> None:
        widget = forms.TextInput({"max": "9999-12-31T23:59", "autocomplete": "off"})
        widget.input_type = "datetime-local"  # the browser's control, to the minute
        super().__init__(label=label, help_text="UTC", required=False, widget=widget)
        self._edge = edge

    def prepare_value(self, value: Any) -> Any:
        try:
            return getattr(parse(value or ""), self._edge).isoformat()[: len("2026-03-01T14:00")]
        except ValidationError:
            return value

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return parse(text) if text else None
