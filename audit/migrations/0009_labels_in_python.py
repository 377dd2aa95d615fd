from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0008_webhook_actions'),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditentry',
            name='action',
            field=models.CharField(max_length=40),
        ),
    ]
