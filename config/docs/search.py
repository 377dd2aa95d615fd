"""The search in /api/docs, which reads all pages."""

import re
from functools import cache
from html import unescape
from typing import NamedTuple

from django.template.loader import render_to_string

from config.docs.pages import PAGES, context_of

INLINE = r"</?(?:a|code|em)\b[^>]*>"
CONTROL = r"<(label|legend|button|select)\b[\s\S]*?</\1>"
MOST = 20  # parts
BEFORE = 60  # characters that are shown before a word


class Part(NamedTuple):
    """What stands below a heading."""

    url: str
    title: str
    text: str

    def has(self, word: str) -> bool:
        return word in f"{self.title} {self.text}".lower()


def search(query: str) -> list[Part]:
    """The first parts with all words: those with the first word in the title, then the others."""
    words = query.lower().split()
    found = [part for part in parts() if words and all(map(part.has, words))]
    found.sort(key=lambda part: words[0] not in part.title.lower())
    return [part._replace(text=beginning_near(words[0], part.text)) for part in found[:MOST]]


@cache
def parts() -> list[Part]:
    found = []
    for page in PAGES:
        html = render_to_string(page.template, context_of(page, "https://…"))
        content = html.partition("</h1>")[2].partition("</main>")[0]
        for part in content.split("<h2>"):
            heading, _, text = part.rpartition("</h2>")
            title = f"{page.title}: {text_of(heading)}" if heading else page.title
            found.append(Part(page.url, title, text_of(text)))
    return found


def text_of(html: str) -> str:
    text = re.sub(rf"{CONTROL}|<[^>]+>", " ", re.sub(INLINE, "", html))
    return " ".join(unescape(text).split())


def beginning_near(word: str, text: str) -> str:
    start = max(0, text.lower().find(word) - BEFORE)
    return f"…{text[start:]}" if start else text
