from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('documents', '0003_document_counts'),
    ]

    operations = [
        migrations.AddField(
            model_name='storedfile',
            name='checked_at',
            field=models.DateTimeField(null=True),
        ),
    ]
