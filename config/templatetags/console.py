"""What templates of the admin need beyond Django's own tags."""

from typing import Any

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.console import formatting

register = template.Library()
for name in ("ago", "ago_with_exact", "clock_tag", "code_spans", "isolated", "time_tag"):
    register.filter(name, getattr(formatting, name))


@register.simple_tag
def copyable(value: Any) -> SafeString:
    """A value with a button that copies it (`console.js`); "" without a value."""
    return format_html('<code class="copyable">{}</code>', value) if value else SafeString("")
