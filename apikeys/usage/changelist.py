"""The list of refused requests: what its search was recognised as, and where else to look."""

from django.http import HttpRequest

from apikeys.usage.filters import NOT_HERE, RefusedFilter
from apikeys.usage.reasons import explain
from audit.links import filtered_log_url
from audit.search import in_words
from audit.workspace_field import WorkspaceChoices
from config.admin.base import request_user
from config.admin.changelist import AFTER
from workspaces.permissions import sees_every_workspace


class RefusedChangeList(WorkspaceChoices):
    """Adds to the list what the search was recognised as, and links if nothing was found."""

    form: RefusedFilter

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        explain(self.result_list, for_support=sees_every_workspace(request_user(request)))

    @property
    def recognised_text(self) -> str:
        """What the search was recognised as."""
        return in_words(self.form.recognised)

    @property
    def empty_text(self) -> str:
        if AFTER in self.params or not self.form.recognised:
            return super().empty_text
        return f"Nothing matches. Looked for: {self.recognised_text}."

    @property
    def empty_links(self) -> list[tuple[str, str]]:
        """What to do about an empty list: texts and URLs."""
        text = self.form.data.get("q", "").strip()
        only_elsewhere = self.form.has_error("q", NOT_HERE)
        if not text or (self.form.errors and not only_elsewhere):
            return []
        found = [("Search the audit log", filtered_log_url(q=text))]
        others = (name for name in self.form.fields if name != "q" and self.form.data.get(name))
        if self.form.recognised and any(others):
            everywhere = {name: None for name in self.form.fields if name != "q"}
            found.insert(0, ("Search without the other filters", self.address(**everywhere)))
        return found
