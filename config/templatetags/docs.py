"""What the templates of /api/docs need: samples of code, and the texts of the OpenAPI document."""

import re

from django import template
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from config.docs.reference import example, prose

register = template.Library()
register.filter(prose)


@register.simple_block_tag
def sample(content: str, name: str, path: str = "", status: int = 200) -> SafeString:
    """Code in one or several languages, each after a line such as "--- Python".

    The reader can send a request to the path, where `{id}` becomes one of their documents.
    Until then, the example response of this status is shown.
    """
    _, *parts = re.split(r"^--- (.+)\n", content, flags=re.MULTILINE)
    codes = [(parts[i], parts[i + 1].strip()) for i in range(0, len(parts), 2)]
    shown = example(path.partition("?")[0], status) if path else ""
    context = {"name": name, "codes": codes, "path": path, "example": shown}
    return SafeString(render_to_string("docs/sample.html", context))
