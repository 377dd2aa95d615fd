"""One search over all sections that the user may see, in the header of each page."""

import logging
from typing import Any
from urllib.parse import urlencode

from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse

from config.console.time_outs import part_limits
from config.request.redaction import public_part

logger = logging.getLogger(__name__)

MOST = 5  # results of one section
SECONDS = 0.5  # of each statement


def page(site: AdminSite, request: HttpRequest) -> HttpResponse:
    """What is found. The form is posted, so that a key that is pasted never is in a URL."""
    text = (request.POST if request.method == "POST" else request.GET).get("q", "")
    text = text.replace("\0", "").strip()[:500]
    cut = public_part(text) or text
    if request.method == "POST" or cut != text:
        return HttpResponseRedirect(f"{reverse('admin:search')}?{urlencode({'q': cut})}")
    sections: list[Any] = [
        each for each in site._registry.values() if each.has_view_permission(request)
    ]
    sections.sort(key=lambda section: section.menu_position)
    groups = [find(section, request, text) for section in sections] if text else []
    hits = [hit for group in groups if not group["section"].is_log for hit in group["hits"]]
    hits = hits or [hit for group in groups for hit in group["hits"]]
    if len(hits) == 1 and not any(group["failed"] for group in groups):
        return HttpResponseRedirect(hits[0][1])
    what = next((group["what"] for group in groups if group["what"]), "")
    context = {"title": "Search", "text": text, "groups": groups, "what": what}
    return render(request, "admin/search.html", {**site.each_context(request), **context})


def find(section: Any, request: HttpRequest, text: str) -> dict[str, Any]:
    """What one section has found. It may fail, or take too long, without the others."""
    try:
        with part_limits(SECONDS):
            rows, what = section.found(request, text, MOST + 1)
            hits = [(row, section.url_of(row)) for row in rows or ()]
    except Exception:
        logger.exception("The search in %s failed", section.nouns)
        return {"section": section, "hits": [], "what": "", "failed": True}
    return {
        "section": section,
        "searched": rows is not None,
        "hits": hits[:MOST],
        "more": len(hits) > MOST,
        "what": what,
        "failed": False,
    }
