"""Invitations to a workspace: made and revoked."""

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse

from config import mail
from config.admin.base import request_user
from config.request_context import base_url
from workspaces.accounts import invitations
from workspaces.admin.people import PeoplePages, chosen
from workspaces.forms import InvitationForm
from workspaces.links import page_url
from workspaces.models import Invitation, Workspace
from workspaces.permissions import is_operator


class InvitationPages(PeoplePages):
    """The list of pending ones is on the workspace's page."""

    def get_urls(self) -> list[URLPattern]:
        views = {"invite": self.invite_view, "revoke_invitation": self.revoke_invitation_view}
        return self.pages(views) + super().get_urls()

    def invite_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        workspace = self.for_manager(request, object_id)
        if not (mail.available() or is_operator(request_user(request))):
            return self.page(
                request,
                "admin/workspaces/workspace/no_mail.html",
                title=f"Invite somebody to {workspace.label}",
                support_email=settings.SUPPORT_EMAIL,
                **self.place(request, workspace),
            )
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
            except invitations.NotSent:
                form.add_error(
                    None,
                    "The mail server is too slow at the moment: no e-mail was sent, and no "
                    "invitation made. Try again in a minute.",
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
        """Sends the link. Only without a mail server, an operator sees it, on this response.

        With one, nobody but the address's owner may see it, since it proves who accepts.
        """
        user, mailed = request_user(request), mail.available()
        with transaction.atomic():
            invitation, token = invitations.create(
                workspace,
                form.cleaned_data["email"],
                form.cleaned_data["role"],
                by=user,
                mailed=mailed,
            )
            link = f"{base_url(request)}{reverse('invitation')}?{urlencode({'token': token})}"
            if mailed:
                self._send(invitation, link, user)
        if mailed:
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

    def _send(self, invitation: Invitation, link: str, by: User) -> None:
        text = {
            "link": link,
            "invited_by": by.get_username(),
            "role": invitation.get_role_display().lower(),
            "workspace": invitation.workspace.name,
            "days": invitations.DAYS,
        }
        subject = f"Invitation to {invitation.workspace}"
        template = "admin/workspaces/workspace/invitation.txt"
        if not mail.send(subject, template, text, invitation.email):
            raise invitations.NotSent

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
