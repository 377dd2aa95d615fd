"""The members of a workspace: another role, or none."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse

from config.admin.base import request_user
from workspaces import changes
from workspaces.admin.access import CONFIRM
from workspaces.admin.people import PeoplePages, chosen
from workspaces.links import page_url, sub_page_url
from workspaces.models import Membership, Workspace
from workspaces.permissions import is_operator


class MemberPages(PeoplePages):
    """The forms are on the workspace's page."""

    def get_urls(self) -> list[URLPattern]:
        return self.urls_of({"members": self.members_view}) + super().get_urls()

    def members_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Changes the role of a member, or removes one; the forms are on the workspace's page."""
        workspace = self.for_manager(request, object_id)
        if request.method != "POST":  # after the password was asked for again
            return HttpResponseRedirect(page_url(workspace))
        member = chosen(workspace.memberships.select_related("user"), request.POST.get("member"))
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
        who = "You lose" if member.user == request.user else "The person loses"
        if "confirmed" not in request.POST and changes.is_last_admin(member):
            hidden = {"do": "remove", "confirmed": "yes"}
            return self._last_admin(request, workspace, member, f"Remove {member.user}", hidden)
        if "confirmed" not in request.POST:
            return self.page(
                request,
                CONFIRM,
                title=f"Remove {member.user} from {workspace.label}?",
                sentences=[
                    f"{who} access to this workspace from the next click on. The account "
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


def _may_leave_no_admin(request: HttpRequest) -> bool:
    """Whether an operator has confirmed that the workspace will have no admin."""
    return "last_admin" in request.POST and is_operator(request_user(request))
