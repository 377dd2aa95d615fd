from django.contrib.postgres.operations import RemoveIndexConcurrently
from django.db import migrations


# Names and titles are not searched any more.
class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('audit', '0010_guarded_function'),
    ]

    operations = [
        RemoveIndexConcurrently(
            model_name='auditentry',
            name='audit_key_name_listed',
        ),
        RemoveIndexConcurrently(
            model_name='auditentry',
            name='audit_title_listed',
        ),
    ]
