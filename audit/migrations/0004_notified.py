from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations
from django.db.models import Index, Q

NOTIFIED = (
    "webhook.switched_off",
    "workspace.suspended",
    "workspace.reinstated",
    "workspace.plan_changed",
    "member.added",
    "member.role_changed",
    "document.evidence_exported",
    "audit.exported",
    "account.operator_made",
    "account.support_made",
)


class Migration(migrations.Migration):
    atomic = False

    dependencies = [("audit", "0003_listed_entries")]

    operations = [
        migrations.RunSQL("DROP INDEX CONCURRENTLY IF EXISTS audit_notified", ""),
        AddIndexConcurrently(
            "auditentry", Index("created_at", condition=Q(action__in=NOTIFIED), name="audit_notified")
        ),
    ]
