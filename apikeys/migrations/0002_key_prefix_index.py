from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models


# Alone, so that it can be repeated: without a transaction, the operations before one that fails stay.
class Migration(migrations.Migration):

    atomic = False

    dependencies = [
        ('apikeys', '0001_initial'),
    ]

    operations = [
        AddIndexConcurrently(
            model_name='apikey',
            index=models.Index(models.F('prefix'), name='apikey_prefix'),
        ),
    ]
