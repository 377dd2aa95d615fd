from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("documents", "0001_squashed")]

    operations = [migrations.RunSQL("ALTER TABLE documents_document ADD COLUMN note text")]
