"""The admin site: its start page, the page System, and its menu."""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.response import TemplateResponse
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import capfirst

from config import health
from config.checks import AUDIT_LOG, EMAILS, FILES, HOUSEKEEPING, SECONDS
from config.connections import part_limits
from config.console import identify
from config.console.base import OPERATORS, READ_ALL, SectionAdmin
from config.console.formatting import Bad, Quiet, clock_tag, code_spans, urgency
from config.console.links import WORKSPACE, page_link

logger = logging.getLogger(__name__)

_OPERATORS_ACT = "This is for the service’s operators: you need not do anything."
Found = dict[str, list[str]]  # by what was looked at: lines for what is wrong


class ConsoleSite(admin.AdminSite):
    """The console. Its sections are `SectionAdmin`s; each of them says who sees it."""

    index_title = "Overview"
    # It would send links without their last slash to the sign-in form, with the link in the URL.
    final_catch_all_view = False

    def register(self, model_or_iterable: Any, admin_class: Any = None, **options: Any) -> None:
        """Registers sections only: no pages of other apps, such as those of devices' secrets."""
        if admin_class and issubclass(admin_class, SectionAdmin):
            super().register(model_or_iterable, admin_class, **options)

    def get_urls(self) -> list[URLPattern | URLResolver]:
        """Removes URLs of Django's that are not used. One is cached, one checks no permissions."""
        unused = ("view_on_site", "jsi18n", "autocomplete", "password_change_done", "app_list")
        urls = [url for url in super().get_urls() if getattr(url, "name", "") not in unused]
        view = self.admin_view(partial(identify.page, self))
        system = path("system/", self.admin_view(self.system), name="system")
        return [path("search/", view, name="search"), system, *urls]

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
            menu.append(("System", reverse("admin:system")))
        return {**context, "menu": menu}

    def index(self, request: HttpRequest, extra_context: Any = None) -> TemplateResponse:
        """The start page: a line for each thing that is wrong, and the sections' panels."""
        sections, looks = self.sections(request), None
        found = self.found(request, sections)
        panels: list[SafeString] = []
        with part_limits(SECONDS):
            for section in sections:
                with part(section.title, found):
                    panels += section.panels(request)
            with part("Workspaces that need a look", found):
                looks = self.needs_a_look(request)
        context = {
            **self.state(request, found),
            "looks": looks,
            "urgent": [of for of, why in (looks or {}).values() if not isinstance(why[0], Quiet)],
            "panels": panels,
            "adding": [each for each in sections if each.has_add_permission(request)],
        }
        return super().index(request, {**context, **(extra_context or {})})

    def system(self, request: HttpRequest) -> HttpResponse:
        """What `manage.py check --deploy --database default` finds, and the start page's lines."""
        if not self.may_see(request, [OPERATORS]):
            raise PermissionDenied
        found = self.found(request, self.sections(request))
        context = {"title": "System", **self.state(request, found)}
        return render(request, "admin/system.html", {**self.each_context(request), **context})

    def found(self, request: HttpRequest, sections: Sequence[SectionAdmin]) -> Found:
        """What these sections find."""
        found: Found = {}
        with part_limits(SECONDS):
            for section in sections:
                with part(section.title, found):
                    for name, lines in section.health(request).items():
                        found.setdefault(name, lines)  # what documents say of files comes first
        return found

    def state(self, request: HttpRequest, found: Found) -> dict[str, Any]:
        """The lines for what is wrong, the worst first, and the checks with what is well."""
        checks = health.checks()
        looked_at = checks.well
        if not self.may_see(request, [READ_ALL]):  # the rest is what the sections have found
            checks = checks.of(AUDIT_LOG, FILES, HOUSEKEEPING, EMAILS)
            looked_at = [] if checks.running else [*found, *checks.well]
        checks = checks._replace(well=[name for name in looked_at if not found.get(name)])
        for each in checks.problems:  # a fault is one line: that of its cause
            found.pop(each.obj, None)
        lines = [*chain(*found.values()), *self.lines(request, checks)]
        return {"checks": checks, "lines": sorted(lines, key=urgency)}

    def lines(self, request: HttpRequest, checks: health.Checks) -> list[str]:
        """HTML: the errors, and who acts. Operators read warnings too, and what to do."""
        is_operator = self.may_see(request, [OPERATORS])
        sees_all = self.may_see(request, [READ_ALL])
        acts = "An operator has to act." if sees_all else _OPERATORS_ACT
        lines: list[str] = []
        for each in checks.problems:
            if is_operator or each.is_serious():
                part = capfirst(each.obj or "settings")  # of Django's own checks
                hint = code_spans(each.hint or "") if is_operator else acts
                line = format_html("<b>{}: {}</b> {}", part, code_spans(each.msg), hint)
                if not sees_all and each.obj != FILES:  # it concerns them least
                    lines.append(Quiet(line))
                else:
                    lines.append(Bad(line) if each.is_serious() else line)
        if checks.running:
            text = "<span data-live>The checks are running</span>; their last results are of {}."
            lines.append(Quiet(format_html(text, clock_tag(checks.at))))
        return lines

    def needs_a_look(self, request: HttpRequest) -> dict[UUID, Any]:
        """By workspaces' ids, the bad first, the quiet last: links, and why to look at them."""
        found: dict[UUID, tuple[str, list[SafeString]]] = {}
        looks = chain.from_iterable(each.needs_a_look(request) for each in self.sections(request))
        for id, name, why in sorted(looks, key=lambda look: urgency(look[2])):
            found.setdefault(id, (page_link(WORKSPACE, name, id), []))[1].append(why)
        return found


@contextmanager
def part(name: str, found: Found) -> Iterator[None]:
    """A part of the start page: if it fails or is late, a line says so, and the rest is shown."""
    try:
        yield
    except Exception:
        logger.exception("The start page: %s could not be shown", name)
        found[name] = [f"{name} could not be shown. The rest is right; try again in some minutes."]
