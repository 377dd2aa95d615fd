import asyncio
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from prometheus_client import start_http_server

from config.connections import connect_as
from config.management.shutdown import graceful_shutdown
from events.webhooks.monitoring import PROCESS
from events.webhooks.worker import Worker


class Command(BaseCommand):
    requires_migrations_checks = True
    requires_system_checks = ()  # they load every view, in a process that runs for ever
    help = (
        "Delivers events to the webhook endpoints until a signal. Any number may run at the same "
        "time; one that is killed loses nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--metrics-port", type=int, default=0, metavar="PORT", help="of /metrics; 0 for none"
        )

    def handle(self, *, metrics_port: int, **options: Any) -> None:
        if metrics_port:
            start_http_server(metrics_port, "127.0.0.1")
        connect_as(PROCESS)
        with graceful_shutdown() as shutdown:
            asyncio.run(Worker().run(shutdown))
