"""Invitations to a workspace: made and revoked."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse

from config import mail
from config.admin.base import request_user
from workspaces import invitations
from workspaces.admin.people import PeoplePages, chosen
from workspaces.forms import InvitationForm
from workspaces.links import page_url
from workspaces.models import Invitation, Workspace


class InvitationPages(PeoplePages):
    """The list of pending ones is on the workspace's page."""

    def get_urls(self) -> list[URLPattern]:
        views = {"invite": self.invite_view, "revoke_invitation": self.revoke_invitation_view}
        return self.pages(views) + super().get_urls()

    def invite_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        workspace = self.for_manager(request, object_id)
        form = InvitationForm(request.POST if request.method == "POST" else None)
        if form.is_valid():
            try:
                return self._invite(request, workspace, form)
            except invitations.AlreadyMember:
                form.add_error(
                    "email",
                    "This person is a member already: change the role on the workspace’s page.",
                )
            except invitations.TooMany:
                form.add_error(
                    None,
                    f"This workspace has made {invitations.MOST_A_DAY} invitations within a day. "
                    "Try again tomorrow.",
                )
        return self.page(
            request,
            "admin/workspaces/workspace/form.html",
            title=f"Invite somebody to {workspace.label}",
            form=form,
            button="Invite",
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
        text = {
            "link": link,
            "invited_by": request_user(request).get_username(),
            "role": invitation.get_role_display().lower(),
            "workspace": workspace.name,
            "days": invitations.DAYS,
        }
        subject = f"Invitation to {workspace.name}"
        if mail.send(subject, "admin/workspaces/workspace/invitation.txt", text, invitation.email):
            messages.success(
                request, f"An e-mail with the link is on its way to {invitation.email}."
            )
            return HttpResponseRedirect(page_url(workspace))
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
        if request.method != "POST":  # after the password was asked for again
            return HttpResponseRedirect(page_url(workspace))
        pending: Any = workspace.invitations.pending().select_related("workspace")
        invitation: Invitation | None = chosen(pending, request.POST.get("invitation"))
        if invitation is None:
            messages.warning(request, "That invitation was accepted or revoked meanwhile.")
        else:
            invitations.revoke(invitation, by=request_user(request).get_username())
            messages.success(request, f"The link for {invitation.email} does not work any more.")
        return HttpResponseRedirect(page_url(workspace))
