"""Texts in the little Markdown that the OpenAPI document and the changelog have."""

import re

from django.utils.html import escape, format_html
from django.utils.safestring import SafeString


def prose(text: str) -> SafeString:
    """HTML of paragraphs, lists with `-`, code and links."""
    blocks = re.split(r"\n\s*\n|\n(?=- )", text.strip())
    html = "".join(_block(block) for block in blocks)
    return SafeString(re.sub(r"(?:<li>.*?</li>)+", r"<ul>\g<0></ul>", html, flags=re.DOTALL))


def _block(text: str) -> SafeString:
    html = re.sub("`([^`]+)`", r"<code>\1</code>", escape(text.removeprefix("- ")))
    html = re.sub(r"\[([^]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', html)
    return format_html("<{0}>{1}</{0}>", "li" if text.startswith("- ") else "p", SafeString(html))
