from pathlib import Path

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
    # After the tables that it names; later ones get the default privileges.
    dependencies = [(app, "__first__") for app in APPS]

    operations = [migrations.RunSQL(SQL, migrations.RunSQL.noop)]
