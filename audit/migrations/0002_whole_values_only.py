from django.db import migrations


# Release 1.0.0 has these indexes. Names and titles are not searched any more.
class Migration(migrations.Migration):
    atomic = False

    dependencies = [("audit", "0001_squashed")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS audit_key_name_listed", ""),
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS audit_title_listed", ""),
    ]
