"""The state of the installation: facts that each app registers.

The page System shows them to operators, and `manage.py doctor` prints them. A fact that cannot be
read does not hide the others.
"""

import html
import logging
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.html import format_html, strip_tags
from django.utils.safestring import SafeString
from django.utils.text import slugify

from config.console.formatting import Bad, ago_with_exact
from config.runtime.database import part_limits

logger = logging.getLogger(__name__)

PART_SECONDS = 1.0  # for a statement, where not all of the page is shown
COUNTED_SECONDS = 15.0  # that the menu shows a count
# Commands that a laptop does not have, and what its user does instead.
OF_SERVERS = re.compile(r"systemctl|journalctl|deploy/(backup|manage|roles)")
OF_MAKE_RUN = "Stop make run with Ctrl-C and start it again; run.log in its data folder is the log"


@dataclass(frozen=True)
class Fact:
    """One line of a part.

    Attributes:
        value: text, or safe HTML.
        state: "ok", "warn" or "bad"; "" for a fact that is neither good nor bad.
        remedy: what to do if it is bad; a sentence.
    """

    label: str
    value: str
    state: str = ""
    remedy: str = ""

    def __post_init__(self) -> None:
        if settings.MAILBOX and OF_SERVERS.search(self.remedy):
            object.__setattr__(self, "remedy", OF_MAKE_RUN)

    @property
    def is_problem(self) -> bool:
        return self.state in ("warn", "bad")

    @property
    def text(self) -> str:
        """The value without HTML."""
        safe = isinstance(self.value, SafeString)
        return html.unescape(strip_tags(self.value)) if safe else self.value


@dataclass(frozen=True)
class Part:
    """Facts under one heading.

    Attributes:
        read: reads the facts. It may fail; statements end at the page's deadline.
        brief: whether the start page shows its problems: only for what is read quickly.
        only: "page" or "doctor" if the other one does not show it.
        remedy: what to do if it cannot be read.
    """

    title: str
    read: Callable[[], list[Fact]]
    brief: bool = False
    only: str = ""
    remedy: str = ""

    def facts(self) -> list[Fact]:
        try:
            return self.read()
        except Exception as exc:
            logger.exception("The state of the system: %s cannot be read", self.title)
            return [self.failed(str(exc).strip().partition("\n")[0] or type(exc).__name__)]

    def failed(self, why: str) -> Fact:
        return Fact(self.title, f"cannot be read: {why}", "bad", self.remedy)

    def name_of(self, fact: Fact) -> str:
        """What a fact is called away from its part."""
        return self.title if fact.label == self.title else f"{self.title}, {fact.label}"


_parts: list[Part] = []


def register(
    title: str,
    read: Callable[[], list[Fact]],
    *,
    brief: bool = True,
    only: str = "",
    remedy: str = "",
) -> None:
    """Adds a part; see `Part`."""
    _parts.append(Part(title, read, brief and only != "doctor", only, remedy))


def parts(where: str = "page") -> list[Part]:
    """What is shown on the "page", or by the "doctor"."""
    return [part for part in _parts if part.only in ("", where)]


_counted = (0.0, 0)  # when, and how many


def problems() -> list[tuple[Part, Fact]]:
    """What is not as it should be, as far as the start page and the menu show it."""
    global _counted
    found = []
    for part in _parts:
        if part.brief:
            try:
                with part_limits(PART_SECONDS):
                    facts = part.facts()
            except Exception as exc:  # before the part was read, or after it
                facts = [part.failed(type(exc).__name__)]
            found += [(part, fact) for fact in facts if fact.is_problem]
    _counted = (time.monotonic(), len(found))
    return found


def count() -> int:
    """How many problems there were some seconds ago, for the menu."""
    return _counted[1] if time.monotonic() - _counted[0] < COUNTED_SECONDS else len(problems())


def warnings() -> list[SafeString]:
    """The problems with what to do, each with a link to its part, for operators' start page."""
    return [as_warning(part, fact) for part, fact in problems()]


def as_warning(part: Part, fact: Fact) -> SafeString:
    """A problem with what to do, and a link to its part."""
    href = f"{reverse('system')}#{slugify(part.title)}"
    name = part.name_of(fact)
    text = format_html('<a href="{}">{}</a>: {}. {}', href, name, fact.value, fact.remedy)
    return Bad(text) if fact.state == "bad" else text


def time_or(moment: datetime | None, otherwise: str) -> str | SafeString:
    """How long ago, as HTML; or the text without a time."""
    return ago_with_exact(moment) if moment else otherwise


def page(request: HttpRequest) -> HttpResponse:
    """All facts."""
    if not (request.user.is_active and request.user.is_superuser):
        raise PermissionDenied
    shown = [(part, part.facts()) for part in parts()]
    found = [as_warning(part, fact) for part, facts in shown for fact in facts if fact.is_problem]
    context = {**site.each_context(request), "title": "System", "parts": shown, "problems": found}
    return render(request, "admin/system/page.html", context)
