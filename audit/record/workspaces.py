"""Workspaces, their members and invitations."""

from dataclasses import asdict
from uuid import UUID

from audit.models import NEWEST_FIRST, Action, AuditEntry
from audit.record.accounts import NOT_CONFIRMED
from audit.record.snapshots import WorkspaceSnapshot
from audit.record.writing import write


def workspace_created(*, workspace: WorkspaceSnapshot, person: str, plan: str) -> None:
    """A command created the workspace."""
    write(Action.WORKSPACE_CREATED, **asdict(workspace), person=person, detail=plan)


def plan_changed(
    *, workspace: WorkspaceSnapshot, person: str, before: str, after: str, reason: str
) -> None:
    """A user moved the workspace to another plan."""
    write(
        Action.PLAN_CHANGED,
        **asdict(workspace),
        person=person,
        detail=f"{before} → {after}: {reason}",
    )


def workspace_suspended(*, workspace: WorkspaceSnapshot, person: str, reason: str) -> None:
    """A user suspended the workspace: its keys are refused."""
    write(Action.WORKSPACE_SUSPENDED, **asdict(workspace), person=person, detail=reason)


def workspace_reinstated(*, workspace: WorkspaceSnapshot, person: str, reason: str) -> None:
    """A user lifted the workspace's suspension."""
    write(Action.WORKSPACE_REINSTATED, **asdict(workspace), person=person, detail=reason)


def newest_of(workspace_id: UUID, *actions: Action) -> AuditEntry | None:
    """The newest entry of a workspace with one of these actions, which are no downloads."""
    entries = (
        AuditEntry.objects.filter(workspace_id=workspace_id, action=action)
        .order_by(*NEWEST_FIRST)
        .first()
        for action in actions
    )
    return max(filter(None, entries), key=lambda entry: entry.pk, default=None)


def member_added(*, workspace: WorkspaceSnapshot, person: str, member: str, role: str) -> None:
    """A user added a member to the workspace."""
    write(Action.MEMBER_ADDED, **asdict(workspace), person=person, member=member, detail=role)


def member_removed(*, workspace: WorkspaceSnapshot, person: str, member: str, role: str) -> None:
    """A user ended a membership."""
    write(Action.MEMBER_REMOVED, **asdict(workspace), person=person, member=member, detail=role)


def member_role_changed(
    *, workspace: WorkspaceSnapshot, person: str, member: str, before: str, after: str
) -> None:
    """A user changed the role of a member."""
    write(
        Action.MEMBER_ROLE_CHANGED,
        **asdict(workspace),
        person=person,
        member=member,
        detail=f"{before} → {after}",
    )


def invitation_created(
    *, workspace: WorkspaceSnapshot, person: str, member: str, role: str
) -> None:
    """A user invited the owner of the e-mail address `member` to the workspace."""
    write(Action.INVITATION_CREATED, **asdict(workspace), person=person, member=member, detail=role)


def invitation_revoked(
    *, workspace: WorkspaceSnapshot, person: str, member: str, role: str
) -> None:
    """A user revoked an invitation: its link does not work any more."""
    write(Action.INVITATION_REVOKED, **asdict(workspace), person=person, member=member, detail=role)


def invitation_accepted(
    *, workspace: WorkspaceSnapshot, person: str, member: str, invited_by: str, confirmed: bool
) -> None:
    """The invited user accepted; `confirmed` says whether the user reads the e-mail address."""
    write(
        Action.INVITATION_ACCEPTED,
        **asdict(workspace),
        person=person,
        member=member,
        detail=f"invited by {invited_by or 'a deleted account'}"
        + ("" if confirmed else f"; {NOT_CONFIRMED}"),
    )
