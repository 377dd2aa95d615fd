"""The pages of /api/docs as texts, and the samples of code in them."""

import html
import re

from django.test import Client

Samples = dict[str, dict[str, str]]


def text_of(path: str) -> str:
    """The HTML of the page with this path below /api/docs."""
    return Client().get(f"/api/docs{path}").content.decode()


def documented_codes() -> dict[str, int]:
    """The page of errors: the status of each `Error-Code`."""
    rows = re.findall(r"<tr><td>(\d{3})</td><td><code>(\w+)</code></td>", text_of("/errors"))
    codes = {code: int(status) for status, code in rows}
    assert len(codes) == len(rows)
    return codes


def samples(page: str) -> Samples:
    """The samples in a page by name, each by language in lower case."""
    found: Samples = {}
    for fieldset in re.findall(r"<fieldset>.*?</fieldset>", page, re.DOTALL):
        [name, *_] = re.findall('type="radio".* name="(.*?)"', fieldset)
        codes = re.findall(
            '<pre tabindex="0" class="(.*?)"><code>(.*?)</code>', fieldset, re.DOTALL
        )
        found[name] = {language: html.unescape(code) for language, code in codes}
    return found
