"""The demo: what a first-time user of the service finds."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from django.db.models import Count, Sum
from pytest_django.plugin import DjangoDbBlocker

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage
from audit.models import AuditEntry
from config.dev import past
from config.management.commands.demo import load, password_of, text
from documents import demo
from documents.models import Document, Recipient, StoredFile
from events.webhooks.models import Delivery
from tests.support import factories
from tests.support.client import get
from tests.support.database import empty_tables
from tests.support.inbox import objects, rows
from workspaces.models import Membership, Workspace
from workspaces.plans import Plan

NOW = datetime.now(UTC)


@pytest.fixture(autouse=True, scope="module")
def _demo(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The demo, loaded for all tests of this file."""
    with django_db_blocker.unblock():
        before = objects()
        load(print)
        yield
        factories.saved_objects.extend(objects() - before)
        empty_tables()


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    """Each test is rolled back."""


@pytest.mark.parametrize(
    ("name", "plan", "suspended", "status"),
    [
        ("Acme", Plan.PRO, False, 200),
        ("Umbrella", Plan.BUSINESS, False, 200),
        ("Freebie", Plan.FREE, False, 402),
        ("Frozen", Plan.PRO, True, 403),
    ],
)
def test_workspaces_have_documents_and_an_admin_whose_key_gets_the_plans_response(
    name: str, plan: str, suspended: bool, status: int
) -> None:
    workspace = Workspace.objects.get(name=name)
    assert (workspace.plan, workspace.suspended) == (plan, suspended)
    assert workspace.documents.filter(deleted_at=None).count() >= 5
    [admin] = Membership.objects.admins().filter(workspace=workspace)
    assert admin.user.check_password(password_of(admin.user.username))
    _, raw = ApiKey.objects.issue(workspace=workspace, name="try", by=admin.user)
    assert get("/api/v1/documents", f"Bearer {raw}").status == status


def test_acme_shows_every_value_there_is() -> None:
    documents = Document.objects.filter(workspace=demo.ACME.id)
    recipients = Recipient.objects.filter(document__workspace=demo.ACME.id)
    for found, field, values in (
        (documents, "status", Document.Status.values),
        (documents, "signing_order", Document.SigningOrder.values),
        (documents, "page_count", range(1, 7)),
        (recipients, "role", Recipient.Role.values),
        (recipients, "status", Recipient.Status.values),
    ):
        assert set(found.values_list(field, flat=True)) == set(values)
    reasons = set(recipients.filter(status="DECLINED").values_list("decline_reason", flat=True))
    assert None in reasons
    assert len(reasons) >= 5


def test_times_are_shifted_to_end_now() -> None:
    lines = (demo.DATA / "acme.jsonl").read_text(encoding="utf-8").splitlines()
    for value in map(json.loads, lines):
        document = Document.objects.get(pk=value["id"])
        shift = document.created_at - datetime.fromisoformat(value["createdAt"])
        assert abs(demo.END + shift - NOW) < timedelta(minutes=5)
        if value.get("sentAt"):
            assert document.sent_at == datetime.fromisoformat(value["sentAt"]) + shift


def test_demo_is_recorded_and_not_loaded_twice() -> None:
    before = rows()
    load(print)
    assert rows() == before
    recorded = Counter(AuditEntry.objects.values_list("action", flat=True))
    expected = {
        "workspace.created": len(demo.TENANTS),
        "workspace.suspended": 1,
        "account.created": len(demo.PEOPLE),
        "member.added": len([person for person in demo.PEOPLE if person.tenant]),
        "document.imported": Document.objects.count(),
        "document.file_imported": StoredFile.objects.count(),
    }
    assert recorded.items() >= expected.items()


def test_keys_are_the_same_each_time_until_one_is_ended() -> None:
    said = text("http://127.0.0.1:8000")
    assert text("http://127.0.0.1:8000") == said
    [key] = ApiKey.objects.filter(workspace=demo.ACME.id)
    admin = Membership.objects.admins().get(workspace=demo.ACME.id).user
    key.revoke(by=admin)
    assert text("http://127.0.0.1:8000") != said


def test_demo_s_past_has_thirty_days_of_usage_and_deliveries() -> None:
    usage = KeyUsage.objects.aggregate(days=Count("day"), downloads=Sum("downloads"))
    assert usage == {"days": past.DAYS, "downloads": 0}  # as many as in the audit log
    assert Delivery.objects.count() >= past.DAYS
    key = ApiKey.objects.get(workspace=demo.ACME.id)
    assert key.last_used_at
    assert key.created_at < NOW - timedelta(days=past.DAYS) < key.last_used_at
    assert Delivery.objects.latest("created_at").created_at < NOW
