"""What templates of the admin need beyond Django's own tags."""

from collections.abc import Iterator, Sequence
from typing import Any

from django import template
from django.utils.html import conditional_escape, format_html, strip_tags
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from config.console.formatting import ago, ago_with_exact, clock_tag, isolated, time_tag

register = template.Library()
for show in (ago, ago_with_exact, clock_tag, isolated, time_tag):
    register.filter(show)

BLANK = ("", "-", "–")  # what cells without a value show


@register.filter
def labelled(row: Sequence[str], headers: Sequence[dict[str, Any]]) -> Iterator[SafeString]:
    """The cells of a row of Django's change list, each with its column's name.

    On phones, where a row is a card, `data-label` is shown instead of the table's head, and cells
    without a value are hidden.
    """
    for cell, column in zip(row, headers, strict=False):
        label = capfirst(strip_tags(str(column["text"])))
        tag, _, rest = conditional_escape(cell).partition(" ")  # "<td" and its attributes
        blank = SafeString("data-blank ") if strip_tags(cell) in BLANK else ""
        yield format_html(
            '{} data-label="{}" {}{}', SafeString(tag), label, blank, SafeString(rest)
        )


@register.simple_tag
def copyable(value: Any) -> SafeString:
    """A value with a button that copies it (`console.js`); "" without a value."""
    return format_html('<code class="copyable">{}</code>', value) if value else SafeString("")
