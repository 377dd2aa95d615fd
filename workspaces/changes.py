"""New workspaces, plans, suspensions, memberships: each change with its audit entry.

Each function locks the row and compares the values, so that concurrent calls write one entry, and
only if something changes. The entry and the change are committed together. `by` is the login of
the operator, or what `config.request.context.actor` returns. The log shows the `reason`.
"""

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils.text import capfirst

from audit.models import Action
from audit.record import record
from workspaces import mails
from workspaces.api_access import access_warning
from workspaces.models import Membership, Workspace, can_sign_in
from workspaces.plans import label_of


def _locked(workspace: Workspace) -> Workspace:
    # Not against foreign keys to it: new documents do not wait.
    return Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)


@transaction.atomic
def create_workspace(workspace: Workspace, *, by: str) -> None:
    workspace.save(force_insert=True)
    detail = f"on {label_of(workspace.plan)}"
    record(Action.WORKSPACE_CREATED, by=by, workspace=workspace.snapshot(), detail=detail)


@transaction.atomic
def rename(workspace: Workspace, name: str, *, by: str) -> None:
    now = _locked(workspace)
    if now.name != name:
        facts, detail = now.snapshot(), f"from {now.name} to {name}"
        now.name = name
        now.save(update_fields=["name"])
        record(Action.WORKSPACE_RENAMED, by=by, workspace=facts, detail=detail)


@transaction.atomic
def change_plan(workspace: Workspace, plan: str, *, by: str, reason: str) -> None:
    now = _locked(workspace)
    if now.plan != plan:
        detail = f"workspace moved from {label_of(now.plan)} to {label_of(plan)}: {reason}"
        now.plan = plan
        now.save(update_fields=["plan"])
        record(Action.PLAN_CHANGED, by=by, workspace=now.snapshot(), detail=detail)
        _tell(now, "Plan changed", detail, by)


@transaction.atomic
def set_suspended(workspace: Workspace, suspended: bool, *, by: str, reason: str) -> None:
    now = _locked(workspace)
    if now.suspended != suspended:
        now.suspended = suspended
        now.save(update_fields=["suspended"])
        action = Action.WORKSPACE_SUSPENDED if suspended else Action.WORKSPACE_REINSTATED
        record(action, by=by, workspace=now.snapshot(), detail=reason)
        _tell(now, f"Workspace {'suspended' if suspended else 'reinstated'}", reason, by)


def _tell(workspace: Workspace, what: str, why: str, by: str) -> None:
    wait = "its keys are refused and its webhooks wait"
    effect = access_warning(workspace, wait) or "Its keys and webhooks work."
    text = f"{capfirst(why)}\nBy: {by}\n\n{effect}"
    mails.tell_admins(workspace, f"{what}: {workspace}", text, workspace)


@transaction.atomic
def add_member(
    workspace: Workspace, user: User, role: str = Membership.Role.ADMIN, *, by: str
) -> None:
    """Adds the user with this role; a member whose role is to be admin gets it."""
    found = _locked(workspace).memberships.filter(user=user).first()
    if found is None:
        new = workspace.memberships.create(user=user, role=role)
        _record(Action.MEMBER_ADDED, new, by, f"as {new.role_label}")
    elif role == Membership.Role.ADMIN:
        make_admin(found, by=by)


@transaction.atomic
def make_admin(membership: Membership, *, by: str) -> None:
    now = _locked_membership(membership)
    if now is not None and now.role != Membership.Role.ADMIN:
        Membership.objects.filter(pk=now.pk).update(role=Membership.Role.ADMIN)
        _record(Action.MEMBER_ROLE_CHANGED, now, by, f"from {now.role_label} to admin")


@transaction.atomic
def remove_member(membership: Membership, *, by: str) -> None:
    """Ends a membership; raises ValidationError if the workspace would have no admin left."""
    now = _locked_membership(membership)
    if now is not None:
        require_another_admin(now)
        now.delete()
        _record(Action.MEMBER_REMOVED, now, by, f"was {now.role_label}")


def require_another_admin(than: Membership) -> None:
    """Raises ValidationError if nobody else who can sign in is an admin of the workspace."""
    if list(Membership.objects.admins().filter(workspace=than.workspace)) == [than]:
        raise ValidationError(
            f"Nothing was changed: {than.user} is the only admin of {than.workspace} who can sign "
            "in. First make another member an admin, or invite one."
        )


def _record(action: Action, of: Membership, by: str, detail: str) -> None:
    facts, member = of.workspace.snapshot(), of.user.get_username()
    record(action, by=by, member=member, workspace=facts, detail=detail)


def _locked_membership(membership: Membership) -> Membership | None:
    """The membership as it is now, None if it has ended.

    Locks the workspace, so that two admins who remove each other do so one after the other.
    """
    _locked(membership.workspace)
    return Membership.objects.select_related("workspace", "user").filter(pk=membership.pk).first()


def solely_administered_by(user: User) -> list[Workspace]:
    own = [each.workspace for each in Membership.objects.admins().filter(user=user)]
    admins = Membership.objects.admins().exclude(user=user)
    return [each for each in own if not admins.filter(workspace=each).exists()]


def lock_operators(account: User, *, others_needed: bool) -> None:
    """Until the transaction ends, changes of the account and of operators wait.

    Raises ValidationError if others are needed, and nobody else operates the service.
    """
    wanted = Q(pk=account.pk) | Q(is_superuser=True)
    locked = User.objects.select_for_update().filter(wanted).order_by("pk")
    others = [each for each in locked if each != account and can_sign_in(each)]
    if others_needed and not others:
        raise ValidationError(f"{account} is the only operator who can sign in.")


@transaction.atomic
def deactivate(account: User, *, even_last_admin: bool = False) -> None:
    """Ends an account's sessions (`sessions.end_closed`), and lets it sign in no more.

    Raises ValidationError if a workspace would have no admin left, or the service no operator.
    """
    lock_operators(account, others_needed=account.is_superuser)
    for membership in Membership.objects.admins().filter(user=account).order_by("workspace_id"):
        _locked(membership.workspace)
    if solely_administered_by(account) and not even_last_admin:
        raise ValidationError("A workspace would have no admin who can sign in.")
    account.is_active = False
    account.save(update_fields=["is_active"])
