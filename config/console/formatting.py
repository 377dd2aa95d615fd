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


class Quiet(SafeString):
    """HTML: a warning that nobody has to act on."""

    state = "quiet"


def urgency(line: str) -> int:
    """The order of warnings: what is red first, what nobody has to act on last."""
    return {Bad: 0, Quiet: 2}.get(type(line), 1)


def isolated(text: Any) -> SafeString:
    """HTML: a text of others, whose direction changes nothing beside it; HTML stays as it is."""
    if isinstance(text, SafeString):
        return text
    return format_html("<bdi>{}</bdi>", text) if text not in ("", None) else SafeString("")


def with_times(text: str) -> SafeString:
    """HTML: a text of others; moments in it, such as "2026-03-01 09:30 UTC", and days are times."""
    tag = r'<time datetime="\1T\2Z">\g<0></time>'
    html = re.sub(r"\b(\d{4}-[01]\d-[0-3]\d) ([0-2]\d(?::[0-5]\d)+) UTC\b", tag, escape(text))
    html = re.sub(r'(?<![\w">-])\d{4}-[01]\d-[0-3]\d\b', r"<time>\g<0></time>", html)
    return format_html("<bdi>{}</bdi>", SafeString(html)) if text else SafeString("")


def pill(kind: str, text: str) -> SafeString:
    """HTML: a short text on a coloured ground: "ok", "warn", "bad" or "quiet"."""
    return format_html('<span class="state {}">{}</span>', kind, text)


def time_tag(moment: datetime, format: str = "Y-m-d H:i:s T") -> SafeString:
    """HTML: `2026-03-01 09:30:00 UTC`; `times.js` shows it in the reader's own zone."""
    text = date_format(timezone.localtime(moment), format)
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(), text)


def clock_tag(moment: datetime) -> SafeString:
    return time_tag(moment, "H:i:s")


def ago(moment: datetime) -> str:
    """`3 hours ago`."""
    if timezone.now() - moment < timedelta(minutes=1):
        return "just now"
    return f"{timesince(moment, depth=1)} ago"


def ago_with_exact(moment: datetime) -> SafeString:
    """HTML: how long ago; `times.js` adds the exact time on hover."""
    return format_html('<time datetime="{}">{}</time>', moment.isoformat(), ago(moment))
