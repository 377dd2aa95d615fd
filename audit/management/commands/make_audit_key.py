from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from audit.sealing.keys import NoteError, PrivateKey


class Command(BaseCommand):
    help = (
        "Makes a key that signs checkpoints of the audit log, and prints two variables: the first "
        "is a secret, for `seal_audit` only; the second is for everybody who verifies."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", help="the log's name, such as documents.example.com/audit")

    def handle(self, *, name: str, **options: Any) -> None:
        try:
            key = PrivateKey.generate(name)
        except NoteError as exc:
            raise CommandError(f"NAME is not valid: {exc}.") from exc
        self.stdout.write(f"AUDIT_SIGNING_KEY={key.encode()}")
        self.stdout.write(f"AUDIT_PUBLIC_KEYS={key.public}")
