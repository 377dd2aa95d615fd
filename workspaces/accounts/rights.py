from django.contrib.auth.models import Group, User
from django.db import transaction

from audit.models import Action
from audit.record import record
from config.console.object_page import Refused
from config.request.context import actor
from workspaces import changes, mails
from workspaces.accounts import second_factor
from workspaces.models import ConfirmedAddress, Membership, can_sign_in
from workspaces.permissions import SUPPORT

MADE = {"operator": Action.OPERATOR_MADE, "support": Action.SUPPORT_MADE}
ENDED = {"operator": Action.OPERATOR_ENDED, "support": Action.SUPPORT_ENDED}


def check(account: User, right: str, given: bool) -> None:
    """Raises `Refused` if that would change nothing, or the account may not get the right."""
    has_it = account.is_superuser if right == "operator" else is_support_staff(account)
    if has_it == given:
        raise Refused(f"{account}: {kinds_of(account)}. Nothing was changed.")
    if given and not (can_sign_in(account) and second_factor.app_of(account)):
        text = "has no second factor, or cannot sign in. The user sets one up under Security."
        raise Refused(f"{account} {text}")


@transaction.atomic
def change(account: User, right: str, given: bool, *, by: str, reason: str) -> None:
    """Gives the account the right "operator" or "support", or ends it.

    Raises `Refused` as `check` does, and ValidationError if the service would have no operator.
    """
    changes.lock_operators(account, others_needed=right == "operator" and not given)
    account.refresh_from_db()
    check(account, right, given)
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
