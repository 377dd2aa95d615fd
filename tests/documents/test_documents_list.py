"""GET /api/v1/documents: the workspace's documents, newest first; status, limit, cursor."""

from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

import pytest
from django.utils import timezone

from config.api.errors import InvalidParameter
from config.api.parameters import LIMIT_EXPECTED
from documents.api.pagination import CURSOR_EXPECTED
from documents.api.views import STATUSES
from documents.models import Document, DocumentStatus
from tests.support import factories
from tests.support.cast import problem_with, store_golden
from tests.support.client import compact, golden
from tests.support.database import locked, waiting_for_lock
from tests.support.factories import Tenant, at, recipient, uid
from tests.support.server import Server, eventually

HOURS = [at(f"2026-03-01 0{hour}:00:00") for hour in range(3)]


def titles(tenant: Tenant, query: str = "") -> list[str]:
    response = tenant.get(f"/documents{query}")
    assert response.status == 200, response
    return [document["title"] for document in response.json()["data"]]


def test_documents_list_is_the_whole_expected_body(acme: Tenant) -> None:
    store_golden(acme)
    response = acme.get("/documents")
    assert response.status == 200
    assert response.json() == golden("documents")
    assert response.body == compact(golden("documents"))


def test_documents_list_has_no_deleted_or_foreign_documents(acme: Tenant, umbrella: Tenant) -> None:
    assert acme.get("/documents").json() == {"data": [], "nextCursor": None}
    factories.listed(acme.workspace, 1, title="Seen")
    factories.listed(acme.workspace, 1, title="Gone", deleted_at=at("2026-03-01 00:00:00"))
    factories.listed(umbrella.workspace, 1, title="Foreign")
    assert titles(acme) == ["Seen"]
    assert titles(acme, "?status=SENT") == ["Seen"]


def test_documents_list_status_returns_only_documents_with_this_status(acme: Tenant) -> None:
    for each in DocumentStatus.values:
        factories.document(acme.workspace, each, title=each)
    for status in STATUSES:
        assert titles(acme, f"?status={status}") == [status]


def test_documents_list_limit_is_1_to_100_and_25_by_default(acme: Tenant) -> None:
    factories.listed(acme.workspace, 101)
    assert len(titles(acme)) == 25
    for limit in (1, 9, 10, 99, 100):
        assert len(titles(acme, f"?limit={limit}")) == limit


# Parameter → what it must be, and values that are not valid; `&` begins another parameter.
NOT_VALID = {
    "status": (
        f"one of {', '.join(STATUSES)}",
        ["PARTIALLY_SIGNED", "", "sent", " SENT", "SENT ", "SENT,DRAFT", "DONE", "SENT\0"]
        + ["ＳＥＮＴ", "SENT&status=SENT", "&status=SENT"],
    ),
    "limit": (
        LIMIT_EXPECTED,
        ["0", "101", "1000", "-1", "+5", "1e3", "1.0", "0x10", "05", "1_0", " 5", "5 ", "5\n"]
        + ["5\0", "9" * 5000, "0" * 400 + "5", "٣", "５", "1٣", "five", "null", ""]
        + ["5&limit=5", "&limit=5"],
    ),
    "cursor": (CURSOR_EXPECTED, ["", "x&cursor=x", "&cursor="]),
}


@pytest.mark.parametrize("name", NOT_VALID)
def test_documents_list_parameter_with_any_other_value_is_400(acme: Tenant, name: str) -> None:
    expected, values = NOT_VALID[name]
    for value in values:
        response = acme.get(f"/documents?{name}={quote(value, safe='&=')}")
        assert response.status == 400
        assert response.error == InvalidParameter(name, expected, problem_with(value)).detail


def test_documents_list_ignores_unknown_parameters(acme: Tenant) -> None:
    factories.listed(acme.workspace, 3)
    query = (
        "?page=2&offset=1&order=title&type=nonsense&format=xml&Limit=0&STATUS=x&%00=%00&limit[]=0"
    )
    assert acme.get(f"/documents{query}").same() == acme.get("/documents").same()


def test_documents_list_progress_counts_only_those_asked_to_sign_or_approve(acme: Tenant) -> None:
    document = factories.document(acme.workspace, "PARTIALLY_SIGNED")
    for role in ("SIGNER", "APPROVER", "CC", "VIEWER"):
        for status in ("PENDING", "SENT", "VIEWED", "SIGNED", "APPROVED", "DECLINED", "BOUNCED"):
            recipient(document, role, status)
    [listed] = acme.get("/documents").json()["data"]
    assert len(listed["recipients"]) == 28
    assert listed["progress"] == {"done": 4, "total": 14}


def test_recipients_are_in_the_signing_order_whatever_their_ids(acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    for order in (2, 1, 3):
        recipient(document, id=uid(10 - order), order=order)
    [listed] = acme.get("/documents").json()["data"]
    for found in (listed, acme.get(f"/documents/{document.id}").json()["data"]):
        assert [each["order"] for each in found["recipients"]] == [1, 2, 3]


@pytest.mark.parametrize("change", ["added", "deleted"])
def test_list_has_its_recipients_although_documents_change_while_it_is_read(
    server: Server, acme: Tenant, change: str
) -> None:
    """Documents and recipients are two statements: here the second one waits for the change."""
    documents = [factories.document(acme.workspace, created_at=time) for time in HOURS]
    for document in documents:
        factories.recipient(document)
    with ThreadPoolExecutor(1) as pool:
        with locked("documents_recipient"):
            listing = pool.submit(server.get, "/documents?limit=2", acme.raw)
            eventually(waiting_for_lock)
            if change == "added":
                factories.recipient(factories.document(acme.workspace))
            else:
                Document.objects.filter(pk=documents[-1].pk).update(deleted_at=timezone.now())
        listed = listing.result().json()["data"]
    assert [len(document["recipients"]) for document in listed] == [1, 1]
