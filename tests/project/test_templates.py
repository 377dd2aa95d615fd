"""A tag that is broken fails here, before anybody opens its page."""

import re

from django.template.loader import get_template

from tests.support.server import ROOT

TEMPLATES = ROOT / "templates"


def test_every_template_compiles_and_so_does_what_it_includes() -> None:
    files = [file for file in TEMPLATES.rglob("*") if file.suffix in (".html", ".txt")]
    names = {str(file.relative_to(TEMPLATES)) for file in files}
    assert names
    for file in files:
        names |= set(re.findall(r'{% (?:include|extends) "([^"]+)"', file.read_text()))
    for name in sorted(names):
        get_template(name)
