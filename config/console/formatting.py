import re
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince


def code_spans(text: str) -> SafeString:
    """HTML: what the text has in backticks is code."""
    return SafeString(re.sub("`([^`]+)`", r"<code>\1</code>", escape(text)))


class Bad(SafeString):
    """HTML: a warning of something that does not work now, and is red."""

    state = "bad"


def isolated(text: Any) -> SafeString:
    """HTML: a text of others, such as a name, whose direction changes nothing beside it.

    HTML stays as it is.
    """
    if isinstance(text, SafeString):
        return text
    return format_html("<bdi>{}</bdi>", text) if text not in ("", None) else SafeString("")


def pill(kind: str, text: str) -> SafeString:
    """HTML: a short text on a coloured ground: "ok", "warn", "bad" or "quiet"."""
    return format_html('<span class="state {}">{}</span>', kind, text)


def exact(moment: datetime) -> str:
    """`2026-03-01 09:30:00 UTC`."""
    return date_format(timezone.localtime(moment), "DATETIME_FORMAT")


def time_tag(moment: datetime) -> SafeString:
    """HTML: the exact time; `times.js` shows it in the reader's own zone."""
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(), exact(moment))


def clock_tag(moment: datetime) -> SafeString:
    text = date_format(timezone.localtime(moment), "H:i:s")
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(), text)


def ago(moment: datetime) -> str:
    """`3 hours ago`."""
    if timezone.now() - moment < timedelta(minutes=1):
        return "just now"
    return f"{timesince(moment, depth=1)} ago"


def ago_with_exact(moment: datetime) -> SafeString:
    """HTML: how long ago, and the exact time on hover."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>', moment.isoformat(), exact(moment), ago(moment)
    )
