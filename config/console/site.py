"""The admin site: its start page, its menu, and the headers of its responses."""

import logging
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any, TypeVar
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils import timezone
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from config import health
from config.console import identify, system
from config.console.base import OPERATORS, READ_ALL
from config.console.links import WORKSPACE, page_link
from config.console.reauthentication import asks_for_password
from config.time_outs import part_limits

logger = logging.getLogger(__name__)

T = TypeVar("T")

PART_SECONDS = 2.0  # for a statement of a part of the start page
KEPT, WAIT_SECONDS = timedelta(minutes=1), 1.0  # of the checks' result, and for a new one
LATE = "{} could not be shown. The rest of this page is right; try again in some minutes."
LATE_FOR_OPERATORS = "{} could not be shown. The service's log says why, as an error."


class ConsoleSite(admin.AdminSite):
    """The developer settings and the audit log, for active staff.

    Each model's admin, a `SectionAdmin`, decides what a user sees.
    """

    site_header = "Document API"
    site_title = "Document API"
    index_title = "Overview"
    site_url = None  # there is no other site to view
    enable_nav_sidebar = False  # a user sees few sections; the lists need the width
    # It would send links without their last slash to the sign-in form, with the link in the URL.
    final_catch_all_view = False

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Removes URLs of Django's that nothing here uses; one checks no permissions."""
        unused = ("view_on_site", "autocomplete", "password_change_done", "app_list")
        urls = [url for url in super().get_urls() if getattr(url, "name", "") not in unused]
        view = self.admin_view(partial(identify.page, self))
        return [path("search/", view, name="search"), *urls]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Any page may ask for the password; none may be cached, not even if Django allows it."""
        return super().admin_view(asks_for_password(view), cacheable=False)

    def may_see(self, request: HttpRequest, seen_by: Sequence[str]) -> bool:
        """Whether the user is one of those who see a section."""
        raise NotImplementedError

    def sections(self, request: HttpRequest) -> list[Any]:
        """What the user sees, as in the menu from left to right."""
        sections: Any = self._registry.values()
        shown = [each for each in sections if self.may_see(request, each.seen_by)]
        return sorted(shown, key=lambda section: section.menu_position)

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        """Django's menu, which asks every section for four permissions, is not used."""
        return []

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        context = super().each_context(request)
        if not context["has_permission"]:
            return context
        menu = [section.crumb() for section in self.sections(request) if section.in_menu]
        if self.may_see(request, [OPERATORS]):
            menu.append(("System", reverse("system")))
        return {**context, "menu": menu}

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The start page: a line for each thing that is wrong, and panels of the user's sections.

        The checks' errors are among the lines for support staff, their warnings too for operators.
        """
        shown = self.sections(request)
        is_operator = self.may_see(request, [OPERATORS])
        sees_all = self.may_see(request, [READ_ALL])
        checks = health.checks(KEPT, WAIT_SECONDS) if sees_all else None
        lines: list[str] = []
        for problem in checks.problems if checks else []:
            if is_operator or problem.is_serious():
                lines.append(system.line(problem, with_hint=is_operator))
        looks: dict[UUID, Any] | None = None
        well: list[str] = []
        panels: list[SafeString] = []
        text = LATE_FOR_OPERATORS if is_operator else LATE
        with part_limits(PART_SECONDS):
            if sees_all:
                late = text.format("Workspaces that need a look")
                looks = part(partial(self.needs_a_look, shown), late)
                if looks is None:
                    lines.append(late)
            for each in shown:
                late = text.format(capfirst(each.nouns))
                looked_at = part(partial(each.health, request), late)
                own_panels = part(partial(each.panels, request), late)
                if looked_at is None or own_panels is None:
                    lines.append(late)
                for name, found in (looked_at or {}).items():
                    lines += found
                    if not found:
                        well.append(name)
                panels += own_panels or []
        context = {
            "lines": sorted(lines, key=lambda line: getattr(line, "state", "warn")),
            "sees_all": sees_all,
            "looks": None if looks is None else list(looks.values()),
            "checks": checks,
            "well": well,
            "ok": len(checks.facts if checks else well),
            "at": checks.at if checks else timezone.now(),
            "panels": panels,
            "adding": [each for each in shown if each.has_add_permission(request)],
        }
        return super().index(request, {**context, **(extra_context or {})})

    def needs_a_look(self, sections: list[Any]) -> dict[UUID, tuple[str, list[SafeString]]]:
        """By workspaces' ids: links to them, and why support or an operator should look at them."""
        found: dict[UUID, tuple[str, list[SafeString]]] = {}
        for section in sections:
            for id, name, why in section.needs_a_look():
                _, reasons = found.setdefault(id, (page_link(WORKSPACE, name, id), []))
                reasons.append(why)
        return found


def part(read: Callable[[], T], late: str) -> T | None:
    """What is read; None if that fails or is late: a part of the page fails alone."""
    try:
        return read()
    except Exception:
        logger.exception("The start page: %s", late)
        return None
