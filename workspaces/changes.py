"""New workspaces, plans, suspensions, memberships: each change with its audit entry.

Each function locks the row and compares the values, so that concurrent calls write one entry, and
only if something changes. The entry and the change are committed together. `by` is the login of
the operator, or what `config.request_context.actor` returns.
"""

from django.db import transaction

from audit import record
from workspaces.models import Membership, Workspace


def _locked(workspace: Workspace) -> Workspace:
    return Workspace.objects.select_for_update().get(pk=workspace.pk)


@transaction.atomic
def create_workspace(workspace: Workspace, *, by: str) -> None:
    """Stores a new workspace."""
    workspace.save(force_insert=True)
    record.workspace_created(workspace=workspace.snapshot(), person=by, plan=workspace.plan)


@transaction.atomic
def change_plan(workspace: Workspace, plan: str, *, by: str) -> None:
    """Moves the workspace to another plan."""
    now = _locked(workspace)
    if now.plan != plan:
        Workspace.objects.filter(pk=now.pk).update(plan=plan)
        record.plan_changed(workspace=now.snapshot(), person=by, before=now.plan, after=plan)


@transaction.atomic
def set_suspended(workspace: Workspace, suspended: bool, *, by: str) -> None:
    """Refuses the workspace's keys from the next request on, or lets them work again."""
    now = _locked(workspace)
    if now.suspended != suspended:
        Workspace.objects.filter(pk=now.pk).update(suspended=suspended)
        write = record.workspace_suspended if suspended else record.workspace_reinstated
        write(workspace=now.snapshot(), person=by)


@transaction.atomic
def add_member(membership: Membership, *, by: str) -> None:
    """Stores a new membership.

    Raises:
        IntegrityError: the user is a member already.
    """
    membership.save(force_insert=True)
    record.member_added(
        workspace=membership.workspace.snapshot(),
        person=by,
        member=membership.user.get_username(),
        role=membership.role,
    )


@transaction.atomic
def change_role(membership: Membership, role: str, *, by: str) -> None:
    """Gives a member another role. Does nothing if the membership has ended meanwhile."""
    now = Membership.objects.select_for_update(of=("self",)).filter(pk=membership.pk).first()
    if now is not None and now.role != role:
        Membership.objects.filter(pk=now.pk).update(role=role)
        record.member_role_changed(
            workspace=now.workspace.snapshot(),
            person=by,
            member=now.user.get_username(),
            before=now.role,
            after=role,
        )


@transaction.atomic
def remove_member(membership: Membership, *, by: str) -> None:
    """Ends a membership."""
    now = Membership.objects.select_for_update(of=("self",)).filter(pk=membership.pk).first()
    if now is not None:
        facts, member, role = now.workspace.snapshot(), now.user.get_username(), now.role
        now.delete()
        record.member_removed(workspace=facts, person=by, member=member, role=role)
