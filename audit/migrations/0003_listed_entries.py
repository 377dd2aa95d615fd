from django.contrib.postgres.operations import AddIndexConcurrently, RemoveIndexConcurrently
from django.db import migrations
from django.db.models import F, Index, Q

NEWEST_FIRST = (F("created_at").desc(), F("id").desc())
LISTED = ~Q(action="document.download_ended")
NO_DOWNLOADS = ~Q(action__in=("document.downloaded", "document.download_ended"))
NEW = (
    Index(*NEWEST_FIRST, condition=LISTED, name="audit_listed"),
    Index("workspace_id", *NEWEST_FIRST, condition=LISTED, name="audit_workspace_listed"),
    Index(
        "document_id",
        *NEWEST_FIRST,
        condition=LISTED & Q(document_id__isnull=False),
        name="audit_document_listed",
    ),
    Index("key_id", *NEWEST_FIRST, condition=LISTED, name="audit_key_listed"),
    Index("key_prefix", *NEWEST_FIRST, condition=NO_DOWNLOADS, name="audit_key_prefix_made"),
)
OLD = (
    "audit_newest",
    "audit_workspace_newest",
    "audit_document_newest",
    "audit_key_newest",
    "audit_key_prefix_listed",
)


# A download's two rows are in nine indexes instead of fourteen. The new ones are built first, so
# that each query has an index at any time; one that was left unfinished is built again.
class Migration(migrations.Migration):
    atomic = False

    dependencies = [("audit", "0002_whole_values_only")]

    operations = [
        *(
            operation
            for index in NEW
            for operation in (
                migrations.RunSQL(f"DROP INDEX CONCURRENTLY IF EXISTS {index.name}", ""),
                AddIndexConcurrently("auditentry", index),
            )
        ),
        *(RemoveIndexConcurrently("auditentry", name) for name in OLD),
    ]
