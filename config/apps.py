"""The project as an app, with its system checks and the `run` command; and the admin."""

from django.apps import AppConfig
from django.conf import settings
from django.contrib import admin
from django.contrib.admin import apps as admin_apps
from django.contrib.staticfiles import apps as static_files_apps
from django.core.cache import close_caches
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, reset_queries
from django.db.backends.signals import connection_created


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import checks  # noqa: F401, PLC0415 - registers them
        from config.connections import close_failed, close_with_thread  # noqa: PLC0415

        connection_created.connect(close_with_thread)
        if settings.API_ONLY:
            # The API does not need these receivers: looking at every connection before and after
            # each request took 3 to 9 % of its time. `close_failed` closes broken ones instead.
            request_started.disconnect(reset_queries)
            request_started.disconnect(close_old_connections)
            request_finished.disconnect(close_old_connections)
            request_finished.disconnect(close_caches)  # ours has nothing to close
            request_finished.connect(close_failed)


class AdminConfig(admin_apps.AdminConfig):
    default_site = "workspaces.accounts.site.Site"

    def ready(self) -> None:
        super().ready()
        # django-otp's pages of all devices, with their secrets.
        from django_otp.plugins.otp_static.models import StaticDevice  # noqa: PLC0415
        from django_otp.plugins.otp_totp.models import TOTPDevice  # noqa: PLC0415

        admin.site.unregister([StaticDevice, TOTPDevice])


class StaticFilesConfig(static_files_apps.StaticFilesConfig):
    """Django's static files without those that no page of ours links to."""

    ignore_patterns = [*static_files_apps.StaticFilesConfig.ignore_patterns, "i18n"]
