"""The demo: what a first-time user of the service finds."""

from collections import Counter
from collections.abc import Iterator

import pytest
from django.db.models import Sum
from pytest_django.plugin import DjangoDbBlocker

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage, RefusedRequest
from audit.models import AuditEntry
from config.dev.demo import MONTH, load, password_of
from documents import demo
from documents.models import Document, StoredFile
from tests.support import factories
from tests.support.client import get
from tests.support.database import empty_tables
from tests.support.inbox import objects, rows
from workspaces.models import Membership, Workspace
from workspaces.plans import Plan


@pytest.fixture(autouse=True, scope="module")
def _demo(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
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


def test_workspaces_are_as_old_as_their_documents_and_the_key_as_its_requests() -> None:
    for workspace in Workspace.objects.all():
        assert workspace.created_at <= workspace.documents.earliest("created_at").created_at
    key = ApiKey.objects.get(name=MONTH)
    days = KeyUsage.objects.all()
    assert {day.key_id for day in days} == {key.pk}
    assert key.workspace.created_at < key.created_at < days.earliest("day").last_at
    assert key.last_used_at == days.latest("day").last_at


def test_log_does_not_contradict_a_date() -> None:
    """Each entry is of the time at which it was written, so it has nothing of what is older."""
    log = AuditEntry.objects.all()
    assert not log.filter(action__in=("workspace.created", "key.created")).exists()
    downloads = KeyUsage.objects.aggregate(Sum("downloads"))
    assert downloads["downloads__sum"] == log.filter(action="document.downloaded").count() == 0
    assert "no downloads" in MONTH


def test_refused_requests_have_ids_of_their_own() -> None:
    rows = RefusedRequest.objects.all()
    assert rows
    for row in rows:
        assert str(row.request_ids[0]) not in row.path


def test_demo_is_recorded_and_not_loaded_twice() -> None:
    before = rows()
    load(print)
    assert rows() == before
    recorded = Counter(AuditEntry.objects.values_list("action", flat=True))
    expected = {
        "workspace.suspended": 1,
        "account.created": len(demo.PEOPLE),
        "member.added": len([person for person in demo.PEOPLE if person.tenant]),
        "document.imported": Document.objects.count(),
        "document.file_imported": StoredFile.objects.count(),
    }
    assert recorded.items() >= expected.items()
