from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.db import transaction
from django.http import HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from config import health
from config.checks import HOUSEKEEPING
from config.console.formatting import isolated
from config.console.links import LOG, filtered
from config.console.object_page import Button, Prompt, Refused
from config.request.context import base_url
from workspaces import changes, mails
from workspaces.accounts import invitations
from workspaces.admin.access import WorkspaceAction
from workspaces.forms import ChosenForm, InvitationForm
from workspaces.models import Membership
from workspaces.permissions import is_operator, may_manage_members

INVITATION = "admin/workspaces/workspace/invitation.txt"


class PeoplePage(WorkspaceAction):
    asks_password = True  # also by a button

    def is_allowed(self) -> bool:
        return may_manage_members(self.user, self.obj)


class ChangeMember(PeoplePage, Button):
    form_class = ChosenForm

    def form_arguments(self) -> dict[str, Any]:
        members = self.obj.memberships.select_related("user")
        gone = "Nothing was changed: that person is not a member any more."
        return {"rows": members, "gone": gone}

    def run(self) -> str | HttpResponse:
        member = self.form.cleaned_data["chosen"]
        promotes = self.request.POST.get("do") == "promote"
        if "confirmed" not in self.request.POST:
            return self.ask(self.promotion(member) if promotes else self.removal(member))
        if promotes:
            changes.make_admin(member, by=self.login)
            return f"{member.user} is an admin of {self.obj} now."
        changes.remove_member(member, by=self.login)
        return f"{member.user} was removed from {self.obj}."

    def promotion(self, member: Membership) -> Prompt:
        title = f"Make {member.user} an admin of {self.obj}"
        text = (
            "An admin sees its documents and its log, creates and ends its keys and webhooks, and "
            "manages its members. To take that back, remove the member."
        )
        return Prompt(f"{title}?", title, [text], hidden=[("confirmed", "yes"), ("do", "promote")])

    def removal(self, member: Membership) -> Prompt:
        changes.require_another_admin(member)
        is_own = member.user == self.user
        title = f"Leave {self.obj}" if is_own else f"Remove {member.user} from {self.obj}"
        kept = 'All keys keep working: revoke those that it may have. <a href="{}">What it did</a>'
        sentences = [
            "The account stays, without access to this workspace from the next click on.",
            format_html(kept, filtered(LOG, workspace_id__exact=self.obj.pk, person=member.user)),
        ]
        hidden = [("confirmed", "yes")]
        return Prompt(f"{title}?", title, sentences, danger=True, hidden=hidden)

    @property
    def next_url(self) -> str:
        """The start page for users who have just removed themselves."""
        may_see = self.section.get_object(self.request, str(self.obj.pk))
        return self.back if may_see else reverse("admin:index")


class Invite(PeoplePage):
    """Sends a link, which only the address's owner may see: it proves who accepts.

    Without a mail server, the response shows it to an operator.
    """

    form_class = InvitationForm

    def prompt(self) -> Prompt:
        return Prompt(title=f"Invite an admin of {self.obj}", button="Invite")

    def check(self) -> None:
        if mails.available() or is_operator(self.user):
            return
        raise Refused(
            "This service sends no e-mails, so only an operator can make an invitation and pass "
            f"its link on. Ask {settings.SUPPORT_EMAIL or 'the operator of this service'}: name "
            "the e-mail address."
        )

    @transaction.atomic
    def run(self) -> str | HttpResponse:
        email, mailed = self.form.cleaned_data["email"], mails.available()
        invitation, token = invitations.create(self.obj, email, by=self.user, mailed=mailed)
        link = f"{base_url(self.request)}{reverse('invitation')}?{urlencode({'token': token})}"
        if mailed:
            facts = {"link": link, "invitation": invitation, "days": invitations.DAYS}
            mails.send([email], f"Invitation to {self.obj}", INVITATION, facts)
            waits = health.checks().of(HOUSEKEEPING).problems
            when = "once the service sends e-mails again" if waits else "usually within seconds"
            return f"An e-mail with the link goes to {email}, {when}."
        works = "It works once, within {} days, and makes its user admin of {}."
        return self.render_page(
            "admin/secret.html",
            title=f"Invitation for {email}",
            what="link",
            of=email,
            raw=link,
            about=[
                format_html(works, invitations.DAYS, isolated(self.obj)),
                "Send it only to this person. Anybody who opens it can make the account of "
                "that address.",
            ],
        )


class RevokeInvitation(PeoplePage, Button):
    form_class = ChosenForm

    def form_arguments(self) -> dict[str, Any]:
        invitations: Any = self.obj.invitations
        gone = "That invitation was accepted or revoked meanwhile."
        return {"rows": invitations.pending().select_related("workspace"), "gone": gone}

    def run(self) -> str:
        invitation = self.form.cleaned_data["chosen"]
        invitations.revoke(invitation, by=self.login)
        return f"The link for {invitation.email} does not work any more."
