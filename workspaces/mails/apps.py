"""The app of e-mails, with its own tables."""

from django.apps import AppConfig

from config.console import system


class MailsConfig(AppConfig):
    name = "workspaces.mails"

    def ready(self) -> None:
        from workspaces.mails import queue  # noqa: PLC0415 - needs the models

        system.register("E-mails", queue.read_facts)
