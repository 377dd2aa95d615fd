"""What the pages of members and of invitations share."""

from collections.abc import Callable
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path

from config.admin.base import SectionAdmin, request_user
from config.admin.reauthentication import recent_sign_in_required
from workspaces.models import Workspace
from workspaces.permissions import may_manage_members


class PeoplePages(SectionAdmin):
    """Pages below a workspace's, for operators and the workspace's admins."""

    def urls_of(self, views: dict[str, Callable[..., HttpResponse]]) -> list[URLPattern]:
        """Their URLs, by the last part of each."""
        return [
            path(
                f"<path:object_id>/{name.replace('_', '-')}/",
                self.admin_site.admin_view(view),
                name=f"workspaces_workspace_{name}",
            )
            for name, view in views.items()
        ]

    def for_manager(self, request: HttpRequest, object_id: str) -> Workspace:
        """The workspace, to change who is in it.

        Raises:
            PermissionDenied: the user may not manage its members.
            Http404: the user may see no such workspace.
            PasswordNeeded: the password must be entered again.
        """
        workspace: Workspace = self.visible_or_404(request, object_id)
        if not may_manage_members(request_user(request), workspace):
            raise PermissionDenied
        recent_sign_in_required(request)
        return workspace

    def place(self, request: HttpRequest, workspace: Workspace) -> dict[str, Any]:
        """Where the page is: its breadcrumbs, and the way back."""
        raise NotImplementedError


def chosen(rows: Any, text: str | None) -> Any:
    """The row with the id that a form has sent; None without one."""
    if not (text and text.isascii() and text.isdigit() and len(text) < 19):
        return None
    return rows.filter(pk=int(text)).first()
