"""The list of audit entries: one row for each download."""

from dataclasses import replace
from typing import Any

from django.db.models import Case, Value, When
from django.http import HttpRequest

from audit.admin import columns
from audit.admin.filters import AuditLogFilter
from audit.admin.links import refused_requests_url
from audit.admin.periods import LogChangeList
from audit.admin.search import Recognised
from audit.models import DOWNLOADS
from audit.scope import scope_of

OF_IDS = {"document_id": "Document id", "key_id": "Key id", "workspace_id": "Workspace id"}


class AuditChangeList(LogChangeList):
    """Adds what an id was recognised as."""

    form: AuditLogFilter
    names = ("downloads", "other")
    series = Case(When(action__in=DOWNLOADS, then=Value("downloads")), default=Value("other"))

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
