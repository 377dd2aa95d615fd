"""The list of audit entries: one row for each download, and a chart above it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from django.http import HttpRequest
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.safestring import SafeString

from audit.admin import columns, histogram
from audit.admin.base import SearchChangeList
from audit.admin.filters import PERIODS, AuditLogFilter
from audit.admin.links import refused_requests_url
from audit.admin.search import Recognised
from audit.scope import scope_of
from config.console.changelist import AFTER, BEFORE
from config.console.charts import Bar, bar_chart

OF_IDS = {"document_id": "Document id", "key_id": "Key id", "workspace_id": "Workspace id"}
# What the chart shows without a filter by time: of all entries, and of some.
ALL, SOME = timedelta(hours=24), timedelta(days=30)
FIRST = datetime.min.replace(tzinfo=UTC)


class AuditChangeList(SearchChangeList):
    """Adds periods and a chart, and what an id was recognised as."""

    form: AuditLogFilter

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        columns.prepare(request, self.result_list, self.root_queryset)
        admin: Any = self.model_admin
        self.lines = [
            {**admin.line(entry), "facts": admin.facts(request, entry)}
            for entry in self.result_list
        ]
        scope = scope_of(request)
        self.several = scope.everything or len(scope.workspaces) != 1

    # --- Search

    @property
    def recognised(self) -> list[Recognised]:
        return [self._as_found(each) for each in super().recognised]

    def _as_found(self, recognised: Recognised) -> Recognised:
        """What an id is, as the entries show that it has found."""
        for row in self.result_list:
            for field, what in OF_IDS.items():
                id = getattr(row, field)
                if id and recognised.value in (str(id), id.hex):
                    return replace(recognised, what=what)
        return recognised

    @property
    def empty_links(self) -> list[tuple[str, str]]:
        requests = [each.value for each in self.form.recognised if each.request]
        refused = [("Look among refused requests", refused_requests_url(each)) for each in requests]
        return [*super().empty_links, *refused[:1]]

    # --- Times

    @property
    def periods(self) -> list[dict[str, Any]]:
        """Links to the last hour, day and week."""
        chosen = self.form.data.get("within")
        return [
            {
                "text": text,
                "url": self.address(within=name, since=None, until=None),
                "current": name == chosen,
            }
            for name, (text, _) in PERIODS.items()
        ]

    @cached_property
    def chart(self) -> SafeString | None:
        """A bar for each hour or day; None if there is nothing to draw."""
        if not self.form.is_valid() or {AFTER, BEFORE} & set(self.params) or not self.result_list:
            return None
        for since, until in self._ranges():
            shown = histogram.Range.of(since, until)
            try:
                counted = histogram.count_by_time(self.queryset, self.form.alternatives(), shown)
            except histogram.TooMany:
                continue
            return self._drawn(shown, counted)
        return SafeString(
            '<p class="quiet">Too many entries for a chart. Choose a shorter time.</p>'
        )

    def _drawn(self, shown: histogram.Range, counted: list[histogram.Counted]) -> SafeString | None:
        drawn = [self._bar(each, shown.form) for each in counted]
        if shown.count < 2 or not any(bar.total for bar in drawn):
            return None
        unit = "hour" if shown.step == histogram.HOUR else "day"
        label = f"Entries by {unit} (UTC), {drawn[0].label} to {drawn[-1].label}"
        return bar_chart(drawn, label=label)

    def _bar(self, counted: histogram.Counted, form: str) -> Bar:
        text = f"{counted.start:{form}}"
        url = self.address(since=text, until=text, within=None)
        label = text if len(text) == len("2026-03-01") else f"{text}:00"
        return Bar(label, {"downloads": counted.downloads, "other": counted.other}, url)

    def _ranges(self) -> list[tuple[datetime, datetime]]:
        """The filters' times; without any, the last month with entries, or else the last day."""
        values = self.form.cleaned_data
        now = timezone.now()
        span = next((each.span for each in self.form.recognised if each.span), None)
        since, until = values["since"] or span, values["until"] or span
        end: datetime = until.last if until else now
        if since:
            return [(since.first, max(end, since.first))]
        if values["within"]:
            return [(now - PERIODS[values["within"]][1], end)]
        lengths = [SOME, ALL] if self.narrowed else [ALL]
        # Not `end - length`: there may be no such time.
        if end - self.result_list[0].created_at > lengths[0]:
            end = self.result_list[0].created_at
        return [(end - min(length, end - FIRST), end) for length in lengths]
