from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from audit.models import Action
from audit.record import record
from config.request.context import actor


class Command(BaseCommand):
    requires_migrations_checks = True
    help = "Records in the audit log that a backup was made; the page System shows its age."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("detail", nargs="?", default="", help="what it has, such as its size")

    def handle(self, *, detail: str, **options: Any) -> None:
        record(Action.BACKUP_MADE, by=actor(), detail=" ".join(detail.split()))
