"""The project as an app, with its system checks and the `run` command; and the admin."""

from django.apps import AppConfig
from django.contrib import admin
from django.contrib.admin import apps as admin_apps
from django.contrib.staticfiles import apps as static_files_apps
from django.core.management import BaseCommand


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, PLC0415 - registers them
        from config.console.system.own import register_own  # noqa: PLC0415
        from config.runtime.postgresql import migrations  # noqa: PLC0415 - needs the settings

        register_own()
        # Of every command with `requires_migrations_checks`; Django only warns.
        BaseCommand.check_migrations = lambda self: migrations.require()  # type: ignore[method-assign]


class AdminConfig(admin_apps.AdminConfig):
    """Django's admin with our site."""

    default_site = "workspaces.accounts.site.Site"

    def ready(self) -> None:
        super().ready()
        # django-otp's pages of all devices, with their secrets.
        from django_otp.plugins.otp_static.models import StaticDevice  # noqa: PLC0415
        from django_otp.plugins.otp_totp.models import TOTPDevice  # noqa: PLC0415

        admin.site.unregister([StaticDevice, TOTPDevice])


class StaticFilesConfig(static_files_apps.StaticFilesConfig):
    """Django's static files without those that no page of ours links to."""

    ignore_patterns = [*static_files_apps.StaticFilesConfig.ignore_patterns, "redoc", "i18n"]
