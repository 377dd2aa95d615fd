"""Days and times as people type them into filters; all of them are UTC."""

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
    """The time that a text names: `2026-11-21`, `2026-11-21 14:05`, `2026-11-21T14:05:30Z`.

    Raises:
        ValidationError: it is none.
    """
    plain = text.strip().removesuffix("UTC").removesuffix("Z").strip().replace("T", " ")
    if len(plain) <= len("2026-11-21 14:05:30"):
        for form, unit, length in _FORMS:
            try:
                first = datetime.strptime(plain, form).replace(tzinfo=UTC)
            except ValueError:
                continue
            # Not first + length: the last day has no next one.
            return Span(first, first + (length - _MICROSECOND), unit, plain)
    raise ValidationError("This is not a time. Write one as 2026-03-01 or 2026-03-01 14:00.")


class SpanField(forms.CharField):
    """A day or time in UTC; it is the whole of the day or the minute that is typed."""

    def __init__(self, label: str) -> None:
        super().__init__(
            label=f"{label} (UTC)",
            required=False,
            max_length=40,
            widget=forms.TextInput({"placeholder": "2026-03-01 14:00", "autocomplete": "off"}),
        )

    def clean(self, value: Any) -> Any:
        text = super().clean(value)
        return parse(text) if text else None
