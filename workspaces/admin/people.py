"""The members of a workspace, and invitations to it."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from config.admin.base import SectionAdmin, request_user
from workspaces import changes, invitations
from workspaces.admin.access import CONFIRM
from workspaces.forms import InvitationForm
from workspaces.links import page_url, sub_page_url
from workspaces.models import Invitation, Membership, Workspace
from workspaces.permissions import is_operator, may_manage_members


class PeoplePages(SectionAdmin):
    """The pages, for operators and the workspace's admins."""

    def get_urls(self) -> list[URLPattern]:
        pages = {
            "members": self.members_view,
            "invite": self.invite_view,
            "revoke_invitation": self.revoke_invitation_view,
        }
        return [
            path(
                f"<path:object_id>/{name.replace('_', '-')}/",
                self.admin_site.admin_view(view),
                name=f"workspaces_workspace_{name}",
            )
            for name, view in pages.items()
        ] + super().get_urls()

    def for_manager(self, request: HttpRequest, object_id: str) -> Workspace:
        """The workspace.

        Raises:
            PermissionDenied: the user may not manage its members.
            Http404: the user may see no such workspace.
        """
        workspace: Workspace = self.visible_or_404(request, object_id)
        if not may_manage_members(request_user(request), workspace):
            raise PermissionDenied
        return workspace

    # --- Members

    def members_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Changes the role of a member, or removes one; the forms are on the workspace's page."""
        workspace = self.for_manager(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        member = _chosen(workspace.memberships.select_related("user"), request.POST.get("member"))
        role = request.POST.get("role", "")
        if member is None:
            messages.warning(request, "Nothing was changed: that person is not a member any more.")
        elif request.POST.get("do") == "remove":
            return self._remove(request, workspace, member)
        elif role in Membership.Role.values:
            return self._change_role(request, workspace, member, role)
        return self._back(request, workspace)

    def _change_role(
        self, request: HttpRequest, workspace: Workspace, member: Membership, role: str
    ) -> HttpResponse:
        by = request_user(request).get_username()
        confirmed = _may_leave_no_admin(request)
        try:
            changes.change_role(member, role, by=by, even_last_admin=confirmed)
        except changes.LastAdmin:
            verb, hidden = f"Make {member.user} a member", {"role": role}
            return self._last_admin(request, workspace, member, verb, hidden)
        messages.success(
            request, f"{member.user}: {Membership.Role(role).label.lower()} of {workspace}."
        )
        return self._back(request, workspace)

    def _remove(
        self, request: HttpRequest, workspace: Workspace, member: Membership
    ) -> HttpResponse:
        if "confirmed" not in request.POST:
            return self.page(
                request,
                CONFIRM,
                title=f"Remove {member.user} from {workspace.label}?",
                sentences=[
                    "The person loses access to this workspace from the next click on. The account "
                    "stays, with its other workspaces.",
                    "Keys that the person has created keep working: revoke those whose text the "
                    "person may have kept.",
                ],
                hidden={"member": member.pk, "do": "remove", "confirmed": "yes"},
                action=sub_page_url(workspace, "members"),
                button=f"Remove {member.user}",
                danger=True,
                **self.place(request, workspace),
            )
        by = request_user(request).get_username()
        try:
            changes.remove_member(member, by=by, even_last_admin=_may_leave_no_admin(request))
        except changes.LastAdmin:
            hidden = {"do": "remove", "confirmed": "yes"}
            return self._last_admin(request, workspace, member, f"Remove {member.user}", hidden)
        messages.success(request, f"{member.user} was removed from {workspace}.")
        return self._back(request, workspace)

    def _last_admin(
        self,
        request: HttpRequest,
        workspace: Workspace,
        member: Membership,
        verb: str,
        hidden: dict[str, str],
    ) -> HttpResponse:
        """Refuses; asks an operator."""
        if not is_operator(request_user(request)):
            messages.error(
                request,
                f"Nothing was changed: {member.user} is the only admin of {workspace} who can sign "
                "in. First make another member an admin, or invite one.",
            )
            return self._back(request, workspace)
        return self.page(
            request,
            CONFIRM,
            title=f"Leave {workspace.label} without an admin?",
            sentences=[
                f"{member.user} is the only admin who can sign in. Without one, nobody can create "
                "or revoke this workspace’s keys; they keep working.",
                "Better first make another member an admin, or invite one.",
            ],
            hidden={**hidden, "member": member.pk, "last_admin": "yes"},
            action=sub_page_url(workspace, "members"),
            button=f"{verb} all the same",
            danger=True,
            **self.place(request, workspace),
        )

    def _back(self, request: HttpRequest, workspace: Workspace) -> HttpResponse:
        """To the workspace's page, unless the users have just removed themselves."""
        if self.has_view_permission(request, workspace):
            return HttpResponseRedirect(page_url(workspace))
        return HttpResponseRedirect(reverse("admin:index"))

    # --- Invitations

    def invite_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        workspace = self.for_manager(request, object_id)
        form = InvitationForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                return self._invite(request, workspace, form)
            except invitations.AlreadyMember:
                form.add_error("email", "This person is a member already.")
            except invitations.TooMany:
                form.add_error(
                    None,
                    f"This workspace has made {invitations.MOST_A_DAY} invitations within a day. "
                    "Try again tomorrow.",
                )
        return self.page(
            request,
            "admin/workspaces/workspace/invite.html",
            title=f"Invite somebody to {workspace.label}",
            form=form,
            days=invitations.DAYS,
            **self.place(request, workspace),
        )

    def _invite(
        self, request: HttpRequest, workspace: Workspace, form: InvitationForm
    ) -> HttpResponse:
        """Sends the link; without a mail server, shows it on this response only."""
        invitation, token = invitations.create(
            workspace,
            form.cleaned_data["email"],
            form.cleaned_data["role"],
            by=request_user(request),
        )
        link = request.build_absolute_uri(f"{reverse('invitation')}?{urlencode({'token': token})}")
        return self.page(
            request,
            "admin/workspaces/workspace/invited.html",
            title=f"Invitation for {invitation.email}",
            invitation=invitation,
            link=link,
            days=invitations.DAYS,
            **self.place(request, workspace),
        )

    def revoke_invitation_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        workspace = self.for_manager(request, object_id)
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        pending: Any = workspace.invitations.pending().select_related("workspace")
        invitation: Invitation | None = _chosen(pending, request.POST.get("invitation"))
        if invitation is None:
            messages.warning(request, "That invitation was accepted or revoked meanwhile.")
        else:
            invitations.revoke(invitation, by=request_user(request).get_username())
            messages.success(request, f"The link for {invitation.email} does not work any more.")
        return HttpResponseRedirect(page_url(workspace))

    def place(self, request: HttpRequest, workspace: Workspace) -> dict[str, Any]:
        """Where the page is: its breadcrumbs, and the way back."""
        raise NotImplementedError


def _chosen(rows: Any, text: str | None) -> Any:
    """The row with the id that a form has sent; None without one."""
    if not (text and text.isascii() and text.isdigit() and len(text) < 19):
        return None
    return rows.filter(pk=int(text)).first()


def _may_leave_no_admin(request: HttpRequest) -> bool:
    """Whether an operator has confirmed that the workspace will have no admin."""
    return "last_admin" in request.POST and is_operator(request_user(request))
