"""Invitations to a workspace: made, revoked, found by their link's token, accepted.

Each change has its audit entry. The token is random, and only its hash is stored; it is never in
an entry. `by` is the login of the user who does it.
"""

import hashlib
import secrets
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone

from audit.models import Action
from audit.record import record
from workspaces import changes
from workspaces.accounts.logins import with_login
from workspaces.accounts.recording import NOT_CONFIRMED
from workspaces.accounts.rights import confirm_address
from workspaces.models import ConfirmedAddress, Invitation, Workspace

DAYS = 7  # that an invitation is valid
MOST_A_DAY = 50  # in one workspace: the service must not send masses of mail


class NotOpen(Exception):
    """The invitation cannot be accepted: it is "expired", "used", "revoked" or "unknown"."""


def hash_of(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


@transaction.atomic
def create(workspace: Workspace, email: str, *, by: User, mailed: bool) -> tuple[Invitation, str]:
    """Invites the owner of an e-mail address; an earlier invitation of theirs stops working.

    Returns the invitation and its token, which is not stored. If it is `mailed`, the link is sent
    to the address and shown to nobody. Raises ValidationError if the owner is a member, or if the
    workspace has made `MOST_A_DAY` invitations.
    """
    email = email.lower()
    # One after the other: only one may be pending for each address.
    locked = Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    if locked.memberships.filter(user__in=with_login(email)).exists():
        text = "This person is a member already: the workspace’s page makes members admins."
        raise ValidationError({"email": text})
    today = timezone.now() - timedelta(days=1)
    if locked.invitations.filter(created_at__gt=today).count() >= MOST_A_DAY:
        raise ValidationError(
            f"This workspace has made {MOST_A_DAY} invitations within a day. Try again tomorrow."
        )
    # Django gives new accounts no access to the admin; to accept, the user must sign in there. One
    # with rights was deactivated: only operators open it again.
    without_rights = with_login(email).filter(is_superuser=False, groups=None, memberships=None)
    for account in without_rights.filter(is_active=True, is_staff=False):
        account.is_staff = True
        account.save(update_fields=["is_staff"])
    earlier = locked.invitations.pending().filter(email=email)
    replaces = "; replaces the earlier one" if earlier.update(revoked_at=timezone.now()) else ""
    detail = f"as admin{replaces}"
    token = secrets.token_urlsafe(32)
    invitation = locked.invitations.create(
        email=email,
        digest=hash_of(token),
        mailed=mailed,
        created_by=by,
        expires_at=timezone.now() + timedelta(days=DAYS),
    )
    facts, login = locked.snapshot(), by.get_username()
    record(Action.INVITATION_CREATED, by=login, member=email, workspace=facts, detail=detail)
    return invitation, token


@transaction.atomic
def revoke(invitation: Invitation, *, by: str) -> None:
    revoked = Invitation.objects.pending().filter(pk=invitation.pk)
    facts, email = invitation.workspace.snapshot(), invitation.email
    if revoked.update(revoked_at=timezone.now()):
        record(Action.INVITATION_REVOKED, by=by, member=email, workspace=facts, detail="as admin")


def find(*, lock: bool = False, **by: Any) -> Invitation:
    """The invitation; raises `NotOpen`."""
    found = Invitation.objects.select_related("workspace").filter(**by)
    invitation = (found.select_for_update(of=("self",)) if lock else found).first()
    if invitation is None:
        raise NotOpen("unknown")
    if invitation.accepted_at:
        raise NotOpen("used")
    if invitation.revoked_at:
        raise NotOpen("revoked")
    if invitation.expired:
        raise NotOpen("expired")
    return invitation


@transaction.atomic
def accept(invitation: Invitation, user: User) -> None:
    """Makes the user an admin; a user who is not stored yet is stored.

    Raises:
        NotOpen: it was accepted or revoked, or has expired, meanwhile.
        IntegrityError: another account with this login was made meanwhile.
    """
    invitation = find(pk=invitation.pk, lock=True)
    if user.pk is None:
        if invitation.mailed:
            user.confirmed_address = ConfirmedAddress()  # for the entry of the account's creation
        user.save()
    if invitation.mailed:
        confirm_address(user, invitation.email)
    Invitation.objects.filter(pk=invitation.pk).update(accepted_at=timezone.now())
    login = user.get_username()
    host = invitation.created_by.get_username() if invitation.created_by else "a deleted account"
    confirmed = "" if ConfirmedAddress.of(user) else f"; {NOT_CONFIRMED}"
    facts, detail = invitation.workspace.snapshot(), f"invited by {host}{confirmed}"
    record(Action.INVITATION_ACCEPTED, by=login, member=login, workspace=facts, detail=detail)
    changes.add_member(invitation.workspace, user, by=login)
