from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('audit', '0004_append_only'),
    ]

    operations = [
        migrations.AlterField(
            model_name='auditentry',
            name='detail',
            field=models.CharField(blank=True, max_length=1000),
        ),
    ]
