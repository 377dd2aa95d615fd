"""The page of the installation's state, for operators: facts that each app registers.

A fact that cannot be read does not hide the others.
"""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.admin import site
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from config.console.formatting import ago_with_exact

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Fact:
    """One line of a part.

    Attributes:
        state: "ok", "warn" or "bad"; "" for a fact that is neither good nor bad.
    """

    label: str
    value: str
    state: str = ""

    @property
    def is_problem(self) -> bool:
        return self.state in ("warn", "bad")


@dataclass(frozen=True)
class Part:
    """Facts under one heading.

    Attributes:
        read: reads the facts. It may fail; statements end at the page's deadline.
        brief: whether the start page shows its problems: only for what is read quickly.
    """

    title: str
    read: Callable[[], list[Fact]]
    brief: bool

    def facts(self) -> list[Fact]:
        try:
            return self.read()
        except Exception:
            logger.exception("The state of the system: %s cannot be read", self.title)
            return [Fact(self.title, "cannot be read; the log has the reason", "warn")]


_parts: list[Part] = []


def register(title: str, read: Callable[[], list[Fact]], *, brief: bool = True) -> None:
    """Adds a part; see `Part`."""
    _parts.append(Part(title, read, brief))


def parts() -> Iterator[tuple[str, list[Fact]]]:
    """Each part's title and facts."""
    for part in _parts:
        yield part.title, part.facts()


def problems() -> list[Fact]:
    """What is not as it should be, as far as the start page shows it."""
    return [fact for part in _parts if part.brief for fact in part.facts() if fact.is_problem]


def time_or(moment: datetime | None, otherwise: str) -> str | SafeString:
    """How long ago, as HTML; or the text without a time."""
    return ago_with_exact(moment) if moment else otherwise


def page(request: HttpRequest) -> HttpResponse:
    """All facts."""
    if not (request.user.is_active and request.user.is_superuser):
        raise PermissionDenied
    context = {**site.each_context(request), "title": "System", "parts": parts()}
    return render(request, "admin/system/page.html", context)


def panel() -> SafeString:
    """What is not as it should be, for the start page of operators."""
    return render_to_string("admin/system/panel.html", {"problems": problems()})
