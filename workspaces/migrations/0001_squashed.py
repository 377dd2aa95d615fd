from pathlib import Path
from uuid import uuid4

from django.conf import settings
from django.db import migrations, models

TRIGGERS = Path(__file__).parents[1] / "triggers.sql"
PLANS = [
    ("FREE", "Free"),
    ("PERSONAL", "Personal"),
    ("PRO", "Pro"),
    ("BUSINESS", "Business"),
]
ROLES = [("ADMIN", "Admin"), ("MEMBER", "Member")]


class Migration(migrations.Migration):
    initial = True

    replaces = [
        ("workspaces", "0001_initial"),
        ("workspaces", "0002_document_counts"),
        ("workspaces", "0003_invitations"),
        ("workspaces", "0004_fold_document_counts"),
        ("workspaces", "0005_confirmed_addresses"),
    ]

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Workspace",
            fields=[
                (
                    "id",
                    models.UUIDField(
                        primary_key=True, serialize=False, default=uuid4, editable=False
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("plan", models.CharField(max_length=20, choices=PLANS, default="FREE")),
                ("suspended", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("role", models.CharField(max_length=10, choices=ROLES, default="MEMBER")),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "user",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL, models.CASCADE, related_name="memberships"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        "workspaces.workspace", models.CASCADE, related_name="memberships"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=["workspace", "user"], name="membership_once"),
                    models.CheckConstraint(
                        condition=models.Q(role__in=["ADMIN", "MEMBER"]), name="membership_role"
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="workspace",
            name="members",
            field=models.ManyToManyField(
                settings.AUTH_USER_MODEL, through="workspaces.Membership", related_name="workspaces"
            ),
        ),
        migrations.CreateModel(
            name="DocumentCount",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("workspace_id", models.UUIDField(db_index=True)),
                ("status", models.CharField(max_length=20)),
                ("count", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        primary_key=True, serialize=False, auto_created=True, verbose_name="ID"
                    ),
                ),
                ("email", models.EmailField(max_length=150)),
                ("role", models.CharField(max_length=10, choices=ROLES)),
                ("digest", models.CharField(max_length=64, unique=True, editable=False)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(null=True)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        settings.AUTH_USER_MODEL, models.SET_NULL, null=True, related_name="+"
                    ),
                ),
                (
                    "workspace",
                    models.ForeignKey(
                        "workspaces.workspace", models.CASCADE, related_name="invitations"
                    ),
                ),
                ("mailed", models.BooleanField(default=False, db_default=False)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=["workspace", "email"],
                        condition=models.Q(accepted_at=None, revoked_at=None),
                        name="invitation_pending_once",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ConfirmedAddress",
            fields=[
                (
                    "user",
                    models.OneToOneField(
                        settings.AUTH_USER_MODEL,
                        models.CASCADE,
                        primary_key=True,
                        serialize=False,
                        related_name="confirmed_address",
                    ),
                ),
                ("email", models.EmailField(max_length=254)),
                ("confirmed_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.RunSQL(TRIGGERS.read_text()),
    ]
