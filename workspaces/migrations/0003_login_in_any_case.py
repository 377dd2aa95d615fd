from django.conf import settings
from django.db import migrations


# No two logins differ only by the case of ASCII letters, which is how `with_login` compares them.
# An index that was left unfinished is built again.
class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ("workspaces", "0002_sessions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS account_login", ""),
        migrations.RunSQL(
            "CREATE UNIQUE INDEX CONCURRENTLY account_login "
            'ON auth_user (lower(username COLLATE "C"))',
            "DROP INDEX CONCURRENTLY account_login",
        ),
    ]
