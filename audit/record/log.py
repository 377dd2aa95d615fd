"""The audit log itself, backups and commands."""

from dataclasses import asdict

from audit.models import Action, AuditEntry
from audit.record.snapshots import WorkspaceSnapshot
from audit.record.writing import ending, insert, write


def log_verified(*, person: str, detail: str) -> None:
    """The whole log was compared with the tree and its checkpoints, and is intact."""
    write(Action.LOG_VERIFIED, person=person, detail=detail)


def log_damaged(*, person: str, detail: str) -> None:
    """The log was compared with the tree and its checkpoints, and differs."""
    write(Action.LOG_DAMAGED, person=person, detail=detail)


def log_restored(*, person: str, detail: str) -> None:
    """The database was restored from a backup and lacks sealed entries; sealing goes on."""
    write(Action.LOG_RESTORED, person=person, detail=detail)


def command_run(*, person: str, detail: str) -> None:
    """A command has changed what no other action names, as `detail` says; `person` names it."""
    write(Action.COMMAND_RUN, person=person, detail=detail[:1000])


def backup_made(*, person: str, detail: str) -> None:
    """The database and the bucket were backed up."""
    write(Action.BACKUP_MADE, person=person, detail=detail)


def log_exported(*, workspace: WorkspaceSnapshot | None, person: str, detail: str) -> AuditEntry:
    """A user exports the audit log as filtered by `detail`.

    Args:
        workspace: the only workspace whose entries are exported; None if there are others.
    """
    facts = asdict(workspace) if workspace else {}
    return write(Action.LOG_EXPORTED, **facts, person=person, detail=detail)


def log_export_ended(started: AuditEntry, *, detail: str) -> None:
    """The export of entry `started` has ended or was broken off, as `detail` says."""
    insert(ending(started, action=Action.LOG_EXPORT_ENDED, detail=detail))
