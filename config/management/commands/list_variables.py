"""list_variables"""

from typing import Any

from django.core.management.base import BaseCommand

from config import env


class Command(BaseCommand):
    help = "Prints the environment variables of the service as a Markdown table."
    requires_system_checks = ()

    def handle(self, **options: Any) -> None:
        self.stdout.write(env.table(), ending="")
