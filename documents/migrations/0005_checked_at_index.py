from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


# Alone, so that it can be repeated: without a transaction, the operations before one that fails stay.
class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('documents', '0004_checked_at'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='storedfile',
            index=models.Index(models.OrderBy(models.F('checked_at'), nulls_first=True), models.F('id'), name='storedfile_unchecked'),
        ),
    ]
