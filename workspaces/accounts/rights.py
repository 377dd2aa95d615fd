from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import Q

from audit.models import Action
from audit.record import record
from config.request.context import actor
from workspaces import mails
from workspaces.accounts import second_factor
from workspaces.models import ConfirmedAddress, Membership, can_sign_in
from workspaces.permissions import SUPPORT


class LastOperator(Exception):
    """Nobody would be left who operates the service."""


class NoSecondFactor(Exception):
    """The account has no second factor, or cannot sign in."""


MADE = {"operator": Action.OPERATOR_MADE, "support": Action.SUPPORT_MADE}
ENDED = {"operator": Action.OPERATOR_ENDED, "support": Action.SUPPORT_ENDED}


def has(account: User, right: str) -> bool:
    """Whether the account has the right, "operator" or "support", even if it cannot sign in."""
    return account.is_superuser if right == "operator" else is_support_staff(account)


def may_get_one(account: User) -> bool:
    """Whether the account may get a right: whoever has one has a second factor."""
    return can_sign_in(account) and second_factor.app_of(account) is not None


@transaction.atomic
def change(account: User, right: str, given: bool, *, by: str, reason: str) -> None:
    """Makes the account an operator or support staff, or ends that.

    Raises:
        NoSecondFactor: it may not get a right.
        LastOperator: nobody else operates the service.
    """
    wanted = Q(pk=account.pk) | Q(is_superuser=True)  # the other operators' own changes wait
    locked = list(User.objects.select_for_update().filter(wanted).order_by("pk"))
    account.refresh_from_db()
    if given and not may_get_one(account):
        raise NoSecondFactor
    others = [each for each in locked if each != account and can_sign_in(each)]
    if right == "operator" and not (given or others):
        raise LastOperator
    if right == "operator":
        # Without a signal: `recording` would record the same act once more.
        User.objects.filter(pk=account.pk).update(is_superuser=given)
    else:
        group = Group.objects.get(name=SUPPORT)
        (account.groups.add if given else account.groups.remove)(group)
    account.refresh_from_db()
    action = (MADE if given else ENDED)[right]
    record(action, by=by, member=account.get_username(), detail=reason)
    mails.tell_account(account, action.label, f"Reason: {reason}", by=by, and_operators=True)


def is_support_staff(account: User) -> bool:
    """Whether the account is in the group, even if it cannot sign in."""
    return any(group.name == SUPPORT for group in account.groups.all())


def kinds_of(account: User) -> str:
    """Its rights in words: "Operator, admin of 2 workspaces"."""
    roles = [each.role for each in account.memberships.all()]
    parts = ["operator"] if account.is_superuser else []
    parts += ["support"] if is_support_staff(account) else []
    for role in Membership.Role:
        if count := roles.count(role):
            places = "1 workspace" if count == 1 else f"{count} workspaces"
            parts.append(f"{role.label.lower()} of {places}")
    text = ", ".join(parts) or "nothing yet"
    return text[0].upper() + text[1:]


@transaction.atomic
def confirm_address(account: User, email: str) -> None:
    """Call it when the account's user has opened a link that was sent to this address only."""
    email = email.lower()
    if not ConfirmedAddress.objects.filter(user=account, email=email).exists():
        ConfirmedAddress(user=account, email=email).save()
        record(Action.ADDRESS_CONFIRMED, by=actor(), member=account.get_username(), detail=email)
