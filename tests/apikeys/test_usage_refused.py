"""Refused requests: each response of 400 or above leads support to its true reason."""

import re
from collections.abc import Callable, Iterable
from datetime import timedelta
from types import ModuleType
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apikeys import keys
from apikeys.models import ApiKey
from apikeys.usage import middleware, purge, refusals
from apikeys.usage.models import RefusedRequest
from apikeys.usage.reasons import NO_DOCUMENT, explain
from apikeys.usage.refusals import REFUSED
from config.api.errors import DocumentNotFound
from documents.models import Document
from tests.apikeys.test_rate_limit import spend
from tests.documents.test_queries import statements
from tests.support import factories
from tests.support.client import Response, get
from tests.support.factories import Tenant, uid
from tests.support.server import eventually
from tests.support.staff import body, shown, signed_in
from tests.support.usage import dropped, find_request, refused


def row_of(response: Response, flusher: ModuleType) -> RefusedRequest:
    """The stored refusal with the response's Request-Id."""
    assert flusher.flush()
    [row] = find_request(response.headers["request-id"])
    assert row.status == response.status
    return row


def reason(row: RefusedRequest, *, for_support: bool = True) -> str:
    """What a page says."""
    [shown] = RefusedRequest.objects.filter(pk=row.pk)
    explain([shown], for_support=for_support)
    return shown.reason


def about(row: RefusedRequest) -> tuple[Any, ...]:
    return row.key_id, row.key_name, row.key_prefix, row.workspace_id, row.workspace_name


def of(tenant: Tenant) -> tuple[Any, ...]:
    key = tenant.key
    return key.pk, key.name, key.prefix, tenant.workspace.pk, tenant.workspace.name


def revoke_by_somebody_gone(tenant: Tenant) -> None:
    other = factories.user("bob@acme.example")
    tenant.key.revoke(by=other)
    User.objects.filter(pk=other.pk).delete()


def revoke(tenant: Tenant) -> None:
    tenant.key.revoke(by=tenant.admin)


def expire(tenant: Tenant) -> None:
    ApiKey.objects.update(expires_at=factories.at("2026-03-01 12:00:00"))


def delete(tenant: Tenant) -> None:
    tenant.key.delete_by(by=tenant.admin)


KEY = r"The key dtd_\w{8}… \(“Acme sync”\)"
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
BEGINS = "What was sent begins like the key “Acme sync”, but"
CUT = "characters instead of 44: it was not copied whole, or something was added."
FORM = "What was sent begins with dtd_ but does not have the form of a key."
# What was done to the key, the header, and the sentence about it, for support and for admins.
REFUSED_KEYS: list[tuple[Callable[[Tenant], None] | None, str | None, str]] = [
    (revoke, "Bearer {raw}", f"{KEY} was revoked at {TIME} by admin@acme.example."),
    (revoke_by_somebody_gone, "Bearer {raw}", f"{KEY} was revoked at {TIME}."),
    (expire, "Bearer {raw}", f"{KEY} expired at 2026-03-01 12:00:00 UTC."),
    (delete, "Bearer {raw}", f"{KEY} was deleted at {TIME} by admin@acme.example."),
    (None, None, "No Authorization header."),
    (None, "Basic abc", "The Authorization header is not of the form Bearer dtd_…."),
    (None, "Bearer dtd_hunter22secret", FORM),
    (None, f"Bearer dtd_{'Z' * 40}", "No key of this service begins with dtd_ZZZZZZZZ."),
    (None, f"Bearer {{prefix}}{'Z' * 32}", f"{BEGINS} the rest differs: it was mistyped."),
    (None, "Bearer {cut}", f"{BEGINS} has 43 {CUT}"),
    (delete, "Bearer {cut}", f"{BEGINS} has 43 {CUT}"),
    (None, "Bearer {raw}{raw}", f"{BEGINS} has 88 {CUT}"),
]


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize(("done", "header", "sentence"), REFUSED_KEYS)
def test_refused_key_is_named_with_what_was_sent_or_became_of_it(
    acme: Tenant,
    flusher: ModuleType,
    done: Callable[[Tenant], None] | None,
    header: str | None,
    sentence: str,
) -> None:
    known = of(acme)
    if done:
        done(acme)
    values = {"raw": acme.raw, "prefix": acme.key.prefix, "cut": acme.raw[:-1]}
    row = row_of(get("/api/v1/me", header and header.format(**values)), flusher)
    for for_support in (True, False):
        said = reason(row, for_support=for_support)
        assert re.fullmatch(sentence, said), said
    unknown = (None, "", "dtd_ZZZZZZZZ" if "ZZZ" in sentence else "", None, "")
    assert about(row) == (known if "Acme sync" in sentence else unknown)
    assert "hunter22" not in str(RefusedRequest.objects.values().get(pk=row.pk))


def test_refused_key_is_explained_as_it_is_now(acme: Tenant, flusher: ModuleType) -> None:
    ApiKey.objects.update(expires_at=factories.at("2026-03-01 12:00:00"))
    row = row_of(acme.get("/me"), flusher)
    ApiKey.objects.update(expires_at=None)
    name = f"The key {acme.key.prefix}… (“Acme sync”)"
    assert reason(row) == f"{name} is active now."
    acme.key.delete_by(by=acme.admin)
    assert reason(row).startswith(f"{name} was deleted at ")


def test_refused_request_of_any_status_is_found_by_its_id(
    acme: Tenant, flusher: ModuleType
) -> None:
    download = f"/documents/{factories.document(acme.workspace).pk}/download"
    for path, status, expected, headers in (
        ("/documents?limit=x", 400, "'limit' is not valid", {}),
        ("/me", 405, "The API is read-only", {"method": "DELETE"}),
        ("/nothing", 404, "The API has no such path.", {}),
        (download, 416, "no such bytes", {"Range": "bytes=999999999-"}),
        (download, 412, "The current version", {"If_Match": '"other"'}),
    ):
        response = acme.get(path, **headers)
        assert response.status == status
        row = row_of(response, flusher)
        assert expected in reason(row)
        assert reason(row) == reason(row, for_support=False) == response.json()["error"]
        method = headers.get("method", "GET")
        assert (row.method, row.path) == (method, f"/api/v1{path.partition('?')[0]}")
        assert find_request(response.headers["request-id"][:8]) == [row]
    assert get("/nothing").status == 404  # outside of the API
    flusher.flush()
    assert RefusedRequest.objects.count() == 5


def test_path_that_ends_in_a_slash_is_no_path(acme: Tenant, flusher: ModuleType) -> None:
    document = factories.document(acme.workspace)
    response = acme.get(f"/documents/{document.id}/")
    assert (response.status, response.headers["error-code"]) == (404, "path_not_found")
    assert reason(row_of(response, flusher)) == (
        "The API has no such path: it ends in a slash, and paths of the API do not."
    )


def test_refused_requests_have_no_key_in_any_column(acme: Tenant, flusher: ModuleType) -> None:
    acme.key.revoke(by=acme.admin)
    secret = acme.raw.removeprefix(acme.key.prefix)
    get(f"/api/v1/documents/{acme.raw}", acme.bearer, user_agent=f"sync {acme.raw}")
    [recorded] = REFUSED.rows.values()
    assert secret not in str(vars(recorded))
    assert recorded.digest == keys.digest(acme.raw)
    flusher.flush()
    [row] = RefusedRequest.objects.values()
    assert secret[:4] not in str(row).replace(row["request_id"], "")
    assert keys.digest(acme.raw) not in str(row)
    assert row["path"] == f"/api/v1/documents/{acme.key.prefix}…"
    get(f"/api/v1/documents/dtd%255F{acme.raw[4:]}", acme.bearer, user_agent=f"DTD-{acme.raw[4:]}")
    [recorded] = REFUSED.rows.values()
    assert secret[:20] not in f"{recorded.path} {recorded.user_agent}"


MALFORMED = "The id in the path is malformed: it must be a UUID of 36 characters."


@pytest.mark.parametrize("ending", ["", "/download"])
def test_refused_document_is_explained_for_support_and_not_for_admins(
    acme: Tenant, umbrella: Tenant, flusher: ModuleType, ending: str
) -> None:
    deleted_at = factories.at("2026-03-01 12:00:00")
    theirs = factories.document(umbrella.workspace)
    gone, later = (factories.document(acme.workspace, deleted_at=deleted_at) for _ in range(2))
    expected = {
        str(theirs.pk): "The document belongs to another workspace: “Umbrella” "
        f"({theirs.workspace_id}).",
        str(gone.pk): "The document was deleted at 2026-03-01 12:00:00 UTC.",
        str(later.pk): "The document exists now: it was created or restored after the request.",
        str(uid(9, 3)): "No document has this id.",
        "x": MALFORMED,
        uid(9, 3).hex: MALFORMED,
    }
    sent = {id: acme.get(f"/documents/{id}{ending}") for id in expected}
    assert len({str(response.same()) for response in sent.values()}) == 1
    Document.objects.filter(pk=later.pk).update(deleted_at=None)
    for id, response in sent.items():
        row = row_of(response, flusher)
        assert reason(row) == expected[id]
        malformed = expected[id] == MALFORMED
        assert row.document_id == (None if malformed else UUID(id))
        assert reason(row, for_support=False) == (MALFORMED if malformed else NO_DOCUMENT)
        assert about(row) == of(acme)


def test_refused_download_says_the_document_s_status(acme: Tenant, flusher: ModuleType) -> None:
    document = factories.document(acme.workspace)
    row = row_of(acme.get(f"/documents/{document.pk}/download?type=signed"), flusher)
    before = "The document was not complete when the file was requested; "
    assert reason(row) == reason(row, for_support=False) == f"{before}it is SENT now."
    assert row.document_id == document.pk
    Document.objects.filter(pk=document.pk).delete()
    assert reason(row) == f"{before}it does not exist any more."


@pytest.mark.service
@pytest.mark.parametrize(
    ("who", "expected"),
    [
        ("freebie", "The workspace’s plan, FREE, does not include the API."),
        ("frozen", "The workspace is suspended."),
        ("acme", "The key had made more than 300 requests in its minute."),
    ],
)
def test_refused_workspace_or_key_over_its_limit_is_explained(
    request: pytest.FixtureRequest, flusher: ModuleType, who: str, expected: str
) -> None:
    tenant: Tenant = request.getfixturevalue(who)
    while (response := tenant.get("/me")).status == 200:
        spend(tenant)
    row = row_of(response, flusher)
    assert reason(row) == reason(row, for_support=False) == expected
    assert about(row) == of(tenant)


NO_HTTPS = "The request was not sent over HTTPS."
NO_SLOT = "The service was not available (slots): no free slot"
OUR_ERROR = "An unexpected error of the service: the log has it under this request id."


@pytest.mark.parametrize(
    ("stored", "support", "admins"),
    [
        ({"status": 503, "cause": "slots", "reason": "no free slot"}, NO_SLOT, "Busy."),
        ({"status": 500, "cause": "server_error", "reason": "x"}, OUR_ERROR, "Busy."),
        ({"status": 403, "cause": "https_required"}, NO_HTTPS, NO_HTTPS),
        # Release 1.0.0 stored the sentence for support.
        ({"status": 503, "reason": "It was not available."}, "It was not available.", "Busy."),
        ({"reason": "It was deleted.", "document_id": uid(9, 3)}, "It was deleted.", NO_DOCUMENT),
    ],
)
def test_stored_request_is_explained(
    db: None, stored: dict[str, Any], support: str, admins: str
) -> None:
    text = "Busy." if "status" in stored else DocumentNotFound.text
    [row] = refused(response_text=text, **stored)
    assert (reason(row), reason(row, for_support=False)) == (support, admins)


LIST = reverse("admin:usage_refusedrequest_changelist")


def test_flood_of_a_key_is_counted_not_stored(
    acme: Tenant, umbrella: Tenant, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "MINUTE", 10**12)  # it does not end during this test
    for _ in range(2):
        for _ in range(25):
            acme.get("/nothing")
        assert flusher.flush()
    acme.get("/documents?limit=x")
    umbrella.get("/nothing")
    assert flusher.flush()
    rows = RefusedRequest.objects.filter(key_id=acme.key.pk, status=404).order_by("id")
    assert [row.more for row in rows] == [0] * 19 + [30]
    assert RefusedRequest.objects.filter(status=400).count() == 1
    assert RefusedRequest.objects.filter(key_id=umbrella.key.pk).count() == 1


def test_flood_is_found_by_the_id_of_any_request_in_it(
    acme: Tenant,
    umbrella: Tenant,
    sam: Client,
    flusher: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(refusals, "MINUTE", 10**12)
    assert eventually(lambda: timezone.now().second < 58)  # all in one minute
    for _ in range(19):
        acme.get("/nothing")
    kept, counted = (acme.get("/nothing").headers["request-id"] for _ in range(2))
    passed = acme.get("/me").headers["request-id"]
    umbrella.get("/nothing")
    assert flusher.flush()
    flood = RefusedRequest.objects.get(request_id=kept)
    rows = {id: shown(sam, f"?q={id}", LIST).result_list for id in (kept, counted, "0" * 32)}
    assert rows == {kept: [flood], counted: [flood], "0" * 32: []}
    html = body(sam.get(f"{LIST}?q={passed}"))
    assert "One of the requests counted here, if it was refused at " in html
    leads_to = {
        id: sam.get(reverse("admin:search"), {"q": id})["Location"] for id in rows if id != "0" * 32
    }
    page = reverse("admin:usage_refusedrequest_change", args=[flood.pk])
    assert leads_to == {kept: page, counted: f"{LIST}?q={counted}"}
    of_umbrella = signed_in(umbrella.admin)
    assert shown(of_umbrella, f"?q={counted}", LIST).result_list == []


def unknown(addresses: Iterable[str], **headers: str) -> None:
    """Sends a request without a key from each address."""
    for address in addresses:
        assert get("/api/v1/me", X_Forwarded_For=address, **headers).status == 401


@pytest.fixture
def proxied(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The address is what X-Forwarded-For says, and the minute does not end."""
    settings.TRUSTED_PROXIES = 1
    monkeypatch.setattr(refusals, "MINUTE", 10**12)


def test_flood_from_an_ipv6_network_is_one(proxied: None, flusher: ModuleType) -> None:
    unknown(f"2001:db8:1:2::{number:x}" for number in range(25))
    unknown(["2001:db8:1:3::1"])
    flusher.flush()
    assert RefusedRequest.objects.count() == 21
    assert RefusedRequest.objects.get(more=5).address == "2001:db8:1:2::13"


def test_flood_without_keys_has_one_budget_and_leaves_room_for_keys(
    acme: Tenant, proxied: None, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(refusals, "ROWS_WITHOUT_KEY", 5)
    for start in (0, 10):
        unknown(f"192.0.2.{number}" for number in range(start, start + 10))
        flusher.flush()
    assert RefusedRequest.objects.count() == 5
    row_of(acme.get("/nothing"), flusher)


def test_flood_without_keys_leaves_half_of_a_buffer_that_is_not_written(
    acme: Tenant, proxied: None, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(REFUSED, "limit", 6)
    before = dropped("refused")
    unknown(f"192.0.2.{number}" for number in range(10))
    for _ in range(3):
        acme.get("/nothing")
    flusher.flush()
    assert RefusedRequest.objects.filter(key_id=None).count() == 3
    assert RefusedRequest.objects.filter(key_id=acme.key.pk).count() == 3
    assert dropped("refused") - before == 7


def test_refused_request_s_texts_are_cut(proxied: None, flusher: ModuleType) -> None:
    unknown(["192.0.2.1"], User_Agent="x " * 1000)
    get(f"/api/v1/{'y-' * 1000}")
    flusher.flush()
    [agent, path] = RefusedRequest.objects.order_by("id")
    assert agent.user_agent == "x " * 60
    assert path.path == f"/api/v1/{'y-' * 56}"


def test_refusals_cost_no_query_before_the_response(acme: Tenant, flusher: ModuleType) -> None:
    def asked(path: str, status: int, raw: str) -> int:
        tenant = Tenant(acme.workspace, acme.admin, acme.key, raw)
        return len(statements(tenant, path, status=status))

    unknown = asked("/me", 401, f"dtd_{'Z' * 40}")
    mistyped = asked("/me", 401, acme.raw[:-1] + "-")
    document = factories.document(acme.workspace)
    found = asked(f"/documents/{document.pk}/download", 200, acme.raw)
    assert asked(f"/documents/{uuid4()}", 404, acme.raw) < found
    acme.key.revoke(by=acme.admin)
    assert asked("/me", 401, acme.raw) == unknown == mistyped == 1


def test_an_error_while_counting_fails_no_request(
    acme: Tenant, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(request: HttpRequest) -> Any:
        raise RuntimeError("a defect")

    monkeypatch.setattr(middleware, "client_address", fail)
    assert acme.get("/me").status == 200


def test_purge_keeps_the_newest_and_keys_longest(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "UNAUTHENTICATED_KEPT", 3)
    monkeypatch.setattr(purge, "REFUSED_KEPT", 8)
    refused(5)
    refused(2, created_at=factories.at("2026-01-01 12:00:00"))  # older than 30 days
    refused(4, key_id=uid(1), status=401)
    old = refused(4, key_id=uid(1), created_at=timezone.now() - timedelta(days=1))
    assert not purge.purge()
    rows = RefusedRequest.objects.order_by("created_at", "id")
    assert [row.created_at for row in rows[:2]] == [each.created_at for each in old[2:]]
    assert [rows.filter(key_id=key).count() for key in (None, uid(1))] == [3, 5]
