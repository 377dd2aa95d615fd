"""The audit log's facts for operators (`config.console.system`)."""

from datetime import timedelta

from django.db.models import Count, Exists, OuterRef
from django.utils import timezone

from audit.models import NEWEST_FIRST, Action, AuditEntry
from audit.sealing import laptop
from config.console.system import Fact, time_or

BACKUP_HOURS = 26  # a daily one may be a little late
BACK_UP = "Run: deploy/backup FOLDER, every day"
MANY = 3  # downloads, of which at least one should have ended after a minute
LOST = "Look at the disk of nginx's log, and at: journalctl -u documents-api-completions"


def read_backup() -> list[Fact]:
    """When `manage.py record_backup` was last called; deploy/backup does so."""
    newest = AuditEntry.objects.filter(action=Action.BACKUP_MADE).order_by(*NEWEST_FIRST).first()
    if newest is None and laptop.provided():
        return [Fact("Last backup", "none: the data of a laptop is not backed up")]
    if newest is None:
        return [Fact("Last backup", "none is recorded", "warn", BACK_UP)]
    late = timezone.now() - newest.created_at > timedelta(hours=BACKUP_HOURS)
    return [
        Fact("Last backup", time_or(newest.created_at, ""), "warn" if late else "ok", BACK_UP),
        Fact("It has", newest.detail or "no description"),
    ]


def read_downloads() -> list[Fact]:
    """Downloads whose end is unknown, since a process was killed or nginx cannot log, say."""
    now = timezone.now()
    started = AuditEntry.objects.filter(action=Action.DOCUMENT_DOWNLOADED)
    ends = AuditEntry.objects.filter(
        action=Action.DOWNLOAD_ENDED, request_id=OuterRef("request_id")
    )
    # A download may go on, and nginx's log is read again once an hour.
    between = (now - timedelta(hours=24), now - timedelta(hours=1))
    count = started.filter(~Exists(ends), created_at__range=between).count()
    # A slow client's may go on too, but hardly all of them.
    last = started.filter(created_at__range=(between[1], now - timedelta(minutes=1)))
    found = last.aggregate(begun=Count("pk"), ended=Count("pk", filter=Exists(ends)))
    begun, ended = found["begun"], found["ended"]
    return [
        Fact(
            "Without an end, of those that began 1 to 24 hours ago",
            f"{count:,}",
            "warn" if count else "ok",
            LOST,
        ),
        Fact(
            "With an end, of those that began 1 to 60 minutes ago",
            f"{ended:,} of {begun:,}",
            "bad" if begun >= MANY and not ended else "ok",
            LOST,
        ),
    ]
