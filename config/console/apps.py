from django.contrib import admin
from django.contrib.admin import apps as admin_apps


class AdminConfig(admin_apps.AdminConfig):
    default_site = "workspaces.accounts.site.Site"

    def ready(self) -> None:
        super().ready()
        # django-otp's pages of all devices, with their secrets.
        from django_otp.plugins.otp_static.models import StaticDevice  # noqa: PLC0415
        from django_otp.plugins.otp_totp.models import TOTPDevice  # noqa: PLC0415

        admin.site.unregister([StaticDevice, TOTPDevice])
