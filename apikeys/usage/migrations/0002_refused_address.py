from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('usage', '0001_initial'),
    ]

    operations = [
        migrations.RunSQL('SET lock_timeout = 0', migrations.RunSQL.noop),
        AddIndexConcurrently('refusedrequest', models.Index(models.F('address'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_address')),
        AddIndexConcurrently('refusedrequest', models.Index(models.F('key_prefix'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='refused_key_prefix')),
        migrations.RunSQL('RESET lock_timeout', migrations.RunSQL.noop),
    ]
