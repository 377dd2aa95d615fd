from pathlib import Path

from django.apps import apps
from django.db import migrations

SQL = (Path(__file__).parent.parent / "privileges.sql").read_text()
APPS = (
    "admin",
    "apikeys",
    "audit",
    "auth",
    "contenttypes",
    "documents",
    "events",
    "otp_static",
    "otp_totp",
    "sessions",
    "usage",
    "webhooks",
    "workspaces",
)


class Migration(migrations.Migration):
    # After the tables that it names; later ones get the default privileges. The API's process lacks
    # some of the apps: it reads the migrations for /readyz, and runs none.
    dependencies = [(app, "__first__") for app in APPS if app in apps.app_configs]

    operations = [migrations.RunSQL(SQL, migrations.RunSQL.noop)]
