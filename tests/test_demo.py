"""The demo: what somebody finds who reads the service for the first time."""

import hashlib
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import ttf_opensans
from django.contrib.auth.models import User
from fontTools.ttLib import TTFont  # type: ignore[import-untyped]
from pypdf import PdfReader
from pytest_django.plugin import DjangoDbBlocker

from apikeys.models import ApiKey
from documents import demo, storage
from documents.models import Document, Recipient, StoredFile
from tests import factories
from tests.client import get
from tests.inbox import objects, rows
from workspaces.models import Membership, Workspace
from workspaces.plans import Plan

NOW = datetime.now(UTC)
Status = Document.Status
Reached = Recipient.Status


@pytest.fixture(autouse=True, scope="module")
def lines(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[list[str]]:
    """The demo, loaded for all tests of this file; the lines that loading it says."""
    with django_db_blocker.unblock():
        assert demo.wanted()
        before = objects()
        said: list[str] = []
        demo.load(said.append, NOW)
        yield said
        factories.saved_objects.extend(objects() - before)
        for model in (Document, StoredFile, Workspace, User):
            model._default_manager.all().delete()


@pytest.fixture(autouse=True)
def _database(db: None) -> None:
    """What a test changes is undone after it."""


def of(tenant: demo.Tenant) -> list[Document]:
    """All documents of a workspace, with their files and recipients."""
    documents = Document.objects.filter(workspace=tenant.id)
    documents = documents.select_related("original", "signed", "certificate")
    return list(documents.prefetch_related("recipients"))


def everything() -> list[Document]:
    return [document for tenant in demo.TENANTS for document in of(tenant)]


def test_loading_it_says_how_far_it_is(lines: list[str]) -> None:
    assert lines[0] == "Making the demo …"
    assert "Importing the documents of Acme …" in lines


@pytest.mark.parametrize(
    ("name", "plan", "suspended", "status"),
    [
        ("Acme", Plan.PRO, False, 200),
        ("Umbrella", Plan.BUSINESS, False, 200),
        ("Freebie", Plan.FREE, False, 402),
        ("Frozen", Plan.PRO, True, 403),
    ],
)
def test_each_workspace_has_documents_and_an_admin_whose_key_gets_its_answer(
    name: str, plan: str, suspended: bool, status: int
) -> None:
    workspace = Workspace.objects.get(name=name)
    assert (workspace.plan, workspace.suspended) == (plan, suspended)
    assert workspace.documents.filter(deleted_at=None).count() >= 5
    [admin] = Membership.objects.admins().filter(workspace=workspace)
    assert not admin.user.has_usable_password()
    _, raw = ApiKey.objects.issue(workspace=workspace, name="try", by=admin.user)
    assert get("/api/v1/documents", f"Bearer {raw}").status == status


def test_its_people_are_an_admin_each_a_plain_member_and_support() -> None:
    memberships = Membership.objects.values_list("user__username", "workspace__name", "role")
    assert set(memberships) == {
        ("ada@acme.example", "Acme", "ADMIN"),
        ("uma@umbrella.example", "Umbrella", "ADMIN"),
        ("felix@freebie.example", "Freebie", "ADMIN"),
        ("frida@frozen.example", "Frozen", "ADMIN"),
        ("max@acme.example", "Acme", "MEMBER"),
    }
    sam = User.objects.get(username="sam@support.example")
    assert sam.is_staff
    assert [group.name for group in sam.groups.all()] == ["Support"]
    assert {user.username for user in User.objects.all()} == {p.login for p in demo.PEOPLE}


def test_acme_has_120_documents_over_half_a_year_and_some_deleted() -> None:
    workspace = Workspace.objects.get(name="Acme")
    documents = workspace.documents.filter(deleted_at=None)
    assert documents.count() == 120
    assert workspace.documents.count() == 126
    ages = [(NOW - document.created_at).days for document in documents]
    assert min(ages) >= 0
    assert max(ages) < 190
    for month in range(6):
        assert any(month * 30 <= age < month * 30 + 32 for age in ages)


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


def test_its_font_has_every_letter_that_stands_in_its_pdfs() -> None:
    shown = {
        letter
        for document in everything()
        for text in [
            document.title,
            document.file_name,
            *(recipient.name for recipient in document.recipients.all()),
        ]
        for letter in text
    }
    for font in (ttf_opensans.OPENSANS_REGULAR, ttf_opensans.OPENSANS_BOLD):
        assert shown <= {chr(code) for code in TTFont(font.path).getBestCmap()}


def moments(recipient: Recipient) -> list[datetime]:
    """When something happened with a recipient, in the order it has to have happened."""
    return [
        moment
        for moment in (
            recipient.sent_at,
            recipient.viewed_at,
            recipient.completed_at,
            recipient.declined_at,
        )
        if moment is not None
    ]


def test_things_happen_one_after_the_other_and_none_in_the_future() -> None:
    for document in everything():
        start = document.sent_at or document.created_at
        assert document.created_at <= start < NOW
        for recipient in document.recipients.all():
            happened = moments(recipient)
            assert happened == sorted(happened)
            assert all(start <= moment < NOW for moment in happened)
            assert document.status != Status.EXPIRED or all(
                moment <= (document.expires_at or moment) for moment in happened
            )
        if document.deleted_at is not None:
            assert document.created_at < document.deleted_at < NOW
        if document.expires_at is not None:
            expired = document.expires_at < NOW
            assert expired or document.status != Status.EXPIRED
            assert not expired or document.status not in ("SENT", "VIEWED", "PARTIALLY_SIGNED")


FACTS: dict[str, tuple[bool, bool, bool, bool]] = {
    # sentAt, viewedAt, completedAt, declinedAt
    "PENDING": (False, False, False, False),
    "SENT": (True, False, False, False),
    "BOUNCED": (True, False, False, False),
    "VIEWED": (True, True, False, False),
    "SIGNED": (True, True, True, False),
    "APPROVED": (True, True, True, False),
    "DECLINED": (True, True, False, True),
}


def test_a_status_fits_what_happened() -> None:
    for document in everything():
        recipients = list(document.recipients.all())
        asked = [r for r in recipients if r.role in ("SIGNER", "APPROVER")]
        done = [r for r in asked if r.completed_at is not None]
        for r in recipients:
            times: Any = (r.sent_at, r.viewed_at, r.completed_at, r.declined_at)
            assert tuple(moment is not None for moment in times) == FACTS[r.status]
            assert (r.role == "APPROVER") >= (r.status == "APPROVED")
            assert r in asked or r.status in ("PENDING", "SENT", "VIEWED")
        reached = {r.status for r in asked}
        assert (document.status == Status.DRAFT) == (document.sent_at is None)
        if document.status == Status.COMPLETED:
            assert len(done) == len(asked)
            assert document.completed_at == max(r.completed_at for r in done if r.completed_at)
        else:
            assert document.completed_at is None
            assert len(done) < len(asked)
        assert (document.status == Status.DECLINED) == (Reached.DECLINED in reached)
        if document.status == Status.PARTIALLY_SIGNED:
            assert done
        if document.status in (Status.DRAFT, Status.SENT):
            assert reached <= {Reached.PENDING, Reached.SENT, Reached.BOUNCED}


def test_in_sequence_nobody_is_asked_before_those_ahead_are_done() -> None:
    for document in everything():
        if document.signing_order == Document.SigningOrder.SEQUENTIAL:
            ahead_done = True
            for recipient in document.recipients.order_by("order"):
                assert ahead_done or recipient.sent_at is None
                ahead_done = ahead_done and recipient.status in ("SIGNED", "APPROVED", "VIEWED")


def text_of(stored: StoredFile) -> tuple[str, int]:
    """The text of the first and the last page of a stored file, and how many pages there are."""
    content = b"".join(storage.open_object(stored.object_key, stored.size))
    assert len(content) == stored.size
    assert hashlib.sha256(content).hexdigest() == stored.sha256
    pages = PdfReader(io.BytesIO(content), strict=True).pages
    shown = pages if len(pages) == 1 else [pages[0], pages[-1]]
    return "\n".join(page.extract_text() for page in shown), len(pages)


def test_each_pdf_says_what_it_is_and_of_which_document() -> None:
    for document in everything():
        text, pages = text_of(document.original)
        assert text.startswith("ORIGINAL ")
        assert document.title.split()[0] in text
        assert pages == document.page_count
        if document.status == Status.COMPLETED:
            assert document.signed is not None
            assert document.certificate is not None
            people = [r for r in document.recipients.all() if r.completed_at is not None]
            signed, pages = text_of(document.signed)
            assert signed.startswith("SIGNED COPY ")
            assert pages > 1
            certificate, pages = text_of(document.certificate)
            assert certificate.startswith("CERTIFICATE OF COMPLETION ")
            assert pages == 1
            for known in (document.title, str(document.pk)):
                assert known in certificate
            for stored in (document.original, document.signed):
                assert stored.sha256 in certificate
            for person in people:
                assert person.name in signed
                assert person.name in certificate
                assert f"{person.completed_at:%H:%M:%S}" in signed


def test_loading_it_again_after_it_broke_off_makes_nothing_twice() -> None:
    assert not demo.wanted()
    before = rows(), objects()
    User.objects.all().delete()
    assert demo.wanted()
    demo.load(lambda line: None, NOW)
    assert not demo.wanted()
    assert (rows(), objects()) == before


def test_it_is_not_wanted_where_somebody_has_a_workspace() -> None:
    User.objects.all().delete()
    Workspace.objects.create(name="Somebody's", plan=Plan.FREE)
    assert not demo.wanted()
