from django.db import migrations

# Release 1.0.0 has these functions, which nothing calls. Earlier triggers did.
DROP = """
DROP FUNCTION IF EXISTS pgtrigger_append_only_6cfb3();
DROP FUNCTION IF EXISTS pgtrigger_count_added_752ea();
DROP FUNCTION IF EXISTS pgtrigger_count_changed_dfaa4();
DROP FUNCTION IF EXISTS pgtrigger_count_removed_38e8a();
DROP FUNCTION IF EXISTS pgtrigger_count_truncated_1bc07();
DROP FUNCTION IF EXISTS _pgtrigger_should_ignore(name);
"""


class Migration(migrations.Migration):
    dependencies = [("documents", "0001_squashed")]

    operations = [migrations.RunSQL(DROP, "")]
