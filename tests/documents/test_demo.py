"""The demo: what a first-time user of the service finds."""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db.models import F, Sum
from pytest_django.plugin import DjangoDbBlocker

from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage, RefusedRequest
from audit.models import AuditEntry
from config.dev import past
from config.management.commands.demo import KEY, key_of
from documents import demo
from documents.models import Document, Recipient, StoredFile
from events.webhooks import demo as webhooks
from tests.support import factories
from tests.support.client import get
from tests.support.database import empty_tables
from tests.support.inbox import objects
from workspaces.models import Membership, Workspace
from workspaces.plans import Plan

NOW = datetime.now(UTC)
Status = Document.Status
Reached = Recipient.Status


@pytest.fixture(autouse=True, scope="module")
def lines(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[str]]:
    """The demo, loaded for all tests of this file; the progress lines of loading it."""
    with django_db_blocker.unblock():
        before = objects()
        progress: list[str] = []
        demo.load(progress.append, str, NOW)
        yield progress
        factories.saved_objects.extend(objects() - before)
        empty_tables()


@pytest.fixture(autouse=True)
def _database(as_owner: None, db: None) -> None:
    """Each test is rolled back. Only the owner may delete accounts and workspaces."""


def of(tenant: demo.Tenant) -> list[Document]:
    """All documents of a workspace, with their files and recipients."""
    documents = Document.objects.filter(workspace=tenant.id)
    documents = documents.select_related("original", "signed", "certificate")
    return list(documents.prefetch_related("recipients"))


def everything() -> list[Document]:
    return [document for tenant in demo.TENANTS for document in of(tenant)]


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
    assert admin.user.check_password(admin.user.username)
    _, raw = ApiKey.objects.issue(workspace=workspace, name="try", by=admin.user)
    assert get("/api/v1/documents", f"Bearer {raw}").status == status


def test_acme_shows_every_value_there_is() -> None:
    documents = of(demo.ACME)
    recipients = [r for document in documents for r in document.recipients.all()]
    assert {document.status for document in documents} == set(Status.values)
    assert {document.signing_order for document in documents} == {"PARALLEL", "SEQUENTIAL"}
    assert {document.page_count for document in documents} == {1, 2, 3, 4, 5, 6}
    assert {recipient.role for recipient in recipients} == set(Recipient.Role.values)
    assert {recipient.status for recipient in recipients} == set(Reached.values)
    reasons = {r.decline_reason for r in recipients if r.status == Reached.DECLINED}
    assert None in reasons
    assert len(reasons) >= 5
    texts = "".join([d.title + d.file_name for d in documents] + [r.name for r in recipients])
    for letters in ("ñüß", "łśű", "αίσ", "Дгы"):
        assert set(letters) <= set(texts)


def all_times() -> dict[tuple[UUID, str], datetime]:
    """All times of the documents and their recipients, by id and column."""
    return {
        (row.pk, field.name): value
        for document in everything()
        for row in (document, *document.recipients.all())
        for field in row._meta.concrete_fields
        if isinstance(value := getattr(row, field.name), datetime)
    }


def test_load_shifts_all_times_and_the_years_in_titles_and_file_names() -> None:
    before, shift = all_times(), timedelta(days=300)
    Workspace.objects.all().delete()
    User.objects.all().delete()
    demo.load(print, str, NOW + shift)
    assert all_times() == {key: moment + shift for key, moment in before.items()}
    named = [
        (int(year), document.created_at.year)
        for document in everything()
        for year in re.findall(r"20\d\d", document.title + document.file_name)
    ]
    assert len(named) > 50
    assert all(year == created for year, created in named)


def test_demo_records_its_workspaces_accounts_and_members() -> None:
    recorded = Counter(AuditEntry.objects.values_list("action", flat=True))
    assert recorded == {
        "workspace.created": len(demo.TENANTS),
        "workspace.suspended": 1,
        "account.created": len(demo.PEOPLE),
        "member.added": len([person for person in demo.PEOPLE if person.tenant]),
        "account.changed": 1,  # put into the group Support
        "document.imported": len(everything()),
        "document.file_imported": StoredFile.objects.count(),
    }


def test_demo_s_past_has_the_refused_requests_that_its_usage_counts() -> None:
    admin = Membership.objects.admins().get(workspace=demo.ACME.id)
    webhooks.receiver(admin.workspace, admin.user)
    key_of(admin, KEY)
    past.invent(ApiKey.objects.get(workspace=admin.workspace, name=KEY))
    usage = KeyUsage.objects.aggregate(errors=Sum("errors"), limited=Sum("limited"))
    refused = RefusedRequest.objects.values_list("status").annotate(count=Sum(F("more") + 1))
    assert dict(refused) == {404: usage["errors"], 429: usage["limited"]}
    oldest = RefusedRequest.objects.order_by("created_at")[0]
    assert oldest.created_at > NOW - timedelta(days=30)  # housekeeping deletes older ones
