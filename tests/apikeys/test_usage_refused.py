"""Refused requests: each response of 400 or above leads support to its true reason."""

import re
import threading
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from types import ModuleType
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import transaction
from django.test import Client
from django.utils import timezone

from apikeys.usage import middleware, purge, report
from apikeys.usage.middleware import BUFFER
from apikeys.usage.models import KeyUsage, RefusedRequest
from tests.support import factories
from tests.support.cast import ENDS, page_of, path_of, spend, statements, text_of, used_up
from tests.support.client import Response, get
from tests.support.database import waiting_for_lock
from tests.support.factories import Tenant, uid
from tests.support.proxy import Proxy
from tests.support.server import eventually
from tests.support.staff import HISTORY, REFUSED, START, body, shown, signed_in, support
from tests.support.usage import Usage, find_request, numbers, refused, usage_of
from workspaces.models import Workspace


@pytest.fixture(autouse=True)
def one_minute() -> None:
    """All requests of a test are in one minute."""
    assert eventually(lambda: timezone.now().second < 55)


def row_of(response: Response, flusher: ModuleType) -> RefusedRequest:
    flusher.flush()
    [row] = find_request(response.headers["request-id"])
    assert row.status == response.status
    assert row.response_text == response.json()["error"]
    return row


def about(row: RefusedRequest) -> tuple[Any, ...]:
    return row.key_id, row.key_name, row.key_prefix, row.workspace_id, row.workspace_name


def of(tenant: Tenant) -> tuple[Any, ...]:
    key = tenant.key
    return key.pk, key.name, key.prefix, tenant.workspace.pk, tenant.workspace.name


TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
FORGED = f"Bearer {{prefix}}{'Z' * 32}"
UNKNOWN = "No key of this service begins with what was sent: nobody was let in."
DIFFERS = "What was sent begins like the key “Acme sync”, but the rest differs."
DELETED = (
    "What was sent begins like the key “Acme sync”, which was deleted at "
    f"{TIME} by admin@acme.example."
)
NO_KEY = "a key is dtd_ and 40 letters or digits; what was sent has"
# What was done to the key, the header, and the sentence about it.
REFUSED_KEYS: list[tuple[str, str | None, str]] = [
    ("revoked", "Bearer {raw}", f"The key was revoked at {TIME} by admin@acme.example."),
    ("expired", "Bearer {raw}", f"The key expired at {TIME}."),
    ("deleted", "Bearer {raw}", DELETED),
    ("deleted", FORGED, DELETED),
    ("revoked", FORGED, DIFFERS),
    ("expired", FORGED, DIFFERS),
    ("", None, "no Authorization header"),
    ("", "Basic abc", "the Authorization header is not of the form Bearer dtd_…"),
    ("", "Bearer dtd_hunter2!", f"{NO_KEY} 12 characters"),
    ("", "Bearer {cut}", f"{NO_KEY} 43 characters"),
    ("", f"Bearer dtd_{'Z' * 40}", UNKNOWN),
    ("", FORGED, DIFFERS),
]


@pytest.mark.usefixtures("as_owner")
@pytest.mark.parametrize(("end", "header", "sentence"), REFUSED_KEYS)
def test_refused_key_is_named_with_what_was_sent_or_became_of_it(
    acme: Tenant, flusher: ModuleType, end: str, header: str | None, sentence: str
) -> None:
    known = of(acme)
    if end:
        ENDS[end](acme)
    values = {"raw": acme.raw, "prefix": acme.key.prefix, "cut": acme.raw[:-1]}
    sent = header and header.format(**values)
    row = row_of(get("/api/v1/me", sent), flusher)
    assert re.fullmatch(sentence, row.reason), row.reason
    if sentence.startswith("The key"):
        assert about(row) == known
    else:  # nobody can put a request into the list of somebody else's workspace
        prefix = sent[7:19] if sent and len(sent) > 40 else ""  # of most of a key
        assert about(row) == (None, "", prefix, None, "")
    assert "hunter2" not in str(RefusedRequest.objects.values().get(pk=row.pk))


def test_request_with_a_rolled_key_names_its_successor(acme: Tenant, flusher: ModuleType) -> None:
    new, _ = acme.key.roll(by=acme.admin, ends_in=timedelta())
    row = row_of(acme.get("/me"), flusher)
    assert re.fullmatch(rf"The key was rolled to {new}, and ended at {TIME}\.", row.reason)


def test_refused_request_of_any_status_is_found_by_its_id(
    acme: Tenant, flusher: ModuleType
) -> None:
    document = factories.document(acme.workspace)
    download = f"/documents/{document.pk}/download"
    for path, status, headers in (
        ("/documents?limit=x", 400, {}),
        ("/me", 405, {"method": "DELETE"}),
        ("/nothing", 404, {}),
        (download, 416, {"Range": "bytes=999999999-"}),
        (download, 412, {"If_Match": '"other"'}),
        (f"{download}?type=signed", 404, {}),
    ):
        response = acme.get(path, **headers)
        assert response.status == status
        row = row_of(response, flusher)
        assert row.reason == response.json()["error"]
        method = headers.get("method", "GET")
        assert (row.method, row.path) == (method, f"/api/v1{path}")
    assert Client().get("/nothing").status_code == 404  # a page
    flusher.flush()
    assert RefusedRequest.objects.count() == 6


def test_refused_requests_have_no_key_in_any_column_and_short_texts(
    acme: Tenant, flusher: ModuleType
) -> None:
    acme.key.revoke(by=acme.admin)
    secret = acme.raw.removeprefix(acme.key.prefix)
    get(f"/api/v1/documents/{acme.raw}", acme.bearer, user_agent=f"sync {acme.raw}")
    [rows] = BUFFER.refused.values()
    assert secret not in str([vars(row) for row in rows.values()])
    flusher.flush()
    [row] = RefusedRequest.objects.values()
    assert secret[:8] not in str({**row, "request_ids": None})
    assert row["path"] == f"/api/v1/documents/{acme.key.prefix}…"
    last = get(f"/api/v1/{'y/' * 500}", user_agent="x " * 500)
    found = row_of(last, flusher)
    assert (len(found.user_agent), len(found.path)) == (120, 120)


@pytest.mark.parametrize(
    ("sent", "kept"),
    [
        ("/documents?status=FOO&limit=25", "status=FOO&limit=25"),
        ("/documents?status=&cursor=abc", "status=&cursor=…"),
        ("/search?title=Divorce&recipient=ann@example.com&sort=x", "title=…&recipient=…&sort=x"),
        ("/search?createdFrom=2026-13-01&Ann=1", "createdFrom=2026-13-01&Ann=…"),
        ("/search?nameFrom=Ann", "nameFrom=…"),
        ("/documents?limit={raw}", "limit={prefix}…"),
        ("/documents?limit=%64{raw[1:]}&{raw}", "limit={prefix}…&{prefix}…=…"),
        (f"/documents?limit={'x ' * 2000}".replace(" ", "+"), f"limit={'x ' * 48}"),
    ],
)
def test_refused_query_is_kept_without_keys_and_without_what_may_name_a_person(
    acme: Tenant, flusher: ModuleType, sent: str, kept: str
) -> None:
    raw, prefix = acme.raw, acme.key.prefix
    sent = sent.replace("{raw[1:]}", raw[1:]).replace("{raw}", raw)
    _, _, query = row_of(acme.get(sent), flusher).path.partition("?")
    assert query == kept.replace("{prefix}", prefix)


@pytest.mark.parametrize("who", ["freebie", "frozen", "acme"])
def test_refused_workspace_or_key_over_its_limit_is_named(
    request: pytest.FixtureRequest, flusher: ModuleType, who: str
) -> None:
    tenant: Tenant = request.getfixturevalue(who)
    while (response := tenant.get("/me")).status == 200:
        spend(tenant)
    assert about(row_of(response, flusher)) == of(tenant)


def test_errors_outside_of_views_are_explained(
    acme: Tenant, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: Any) -> None:
        raise RuntimeError("a defect")

    row = row_of(acme.get("/me", Host="other.example"), flusher)  # no view was looked for
    assert (row.status, row.reason[:28]) == (400, "Invalid HTTP_HOST header: 'o")
    monkeypatch.setattr("workspaces.views.MeViewSet.retrieve", fail)
    assert row_of(acme.get("/me"), flusher).status == 500


# --- Floods

MINUTE = factories.at("2026-03-01 09:30:00")
Flood = Callable[..., list[UUID]]


@pytest.fixture
def flood(acme: Tenant, flusher: ModuleType) -> Flood:
    """Refuses requests of Acme's key, two milliseconds apart, and returns their ids."""

    def refuse(count: int = 1, at: datetime = MINUTE, **fields: Any) -> list[UUID]:
        begin = int(at.timestamp() * 1000)
        ids = [UUID(int=(begin + 2 * n << 80) + uuid4().int % 2**80) for n in range(count)]
        defaults = {"status": 404, "reason": "Nothing.", "method": "GET", "path": "/api/v1"}
        for number, id in enumerate(ids):
            time = at + timedelta(milliseconds=2 * number)
            row = RefusedRequest(created_at=time, last_at=time, request_ids=[id])
            vars(row).update(vars(acme.key.snapshot()) | defaults | fields)
            BUFFER.refuse(row)
        return ids

    return refuse


def paths(first: int, count: int) -> list[str]:
    return [f"/api/v1/documents/{number}" for number in range(first, first + count)]


def counts() -> list[tuple[int, int]]:
    """Of each row: its requests, and how many of them are others."""
    rows = RefusedRequest.objects.order_by("created_at", "id")
    return list(rows.values_list("requests", "others"))


def test_flood_is_one_row_with_its_times_and_its_first_60_request_ids(
    flood: Flood, flusher: ModuleType, sam: Client
) -> None:
    ids = flood(420, response_text="Try again in 5 seconds.")
    flusher.flush()
    [row] = RefusedRequest.objects.all()
    assert (row.requests, row.others) == (420, 0)
    assert row.last_at - row.created_at == timedelta(milliseconds=838)
    assert row.request_ids == [*ids[:60], ids[-1]]
    kept, counted = (
        text_of(body(sam.get(REFUSED, {"request_id__exact": ids[n].hex}))) for n in (9, 99)
    )
    assert "420 × 404" in kept
    assert "420 × 404" in counted
    assert ("is one of these" in kept, "it is one of these" in counted) == (False, True)
    opened = text_of(body(sam.get(f"{REFUSED}?request_id__exact={ids[9].hex}&open={row.pk}")))
    assert f"Request id {ids[9].hex} one of 420 First response" in opened
    assert ids[0].hex not in opened
    for seconds, is_listed in ((-61, False), (-2, False), (-0.9, True), (0.5, True), (1, False)):
        id = UUID(int=ids[0].int + (int(seconds * 1000) << 80))
        found = text_of(body(sam.get(REFUSED, {"request_id__exact": id.hex})))
        assert ("420 × 404" in found) == is_listed, seconds
    other = {"request_id__exact": ids[9].hex, "status__exact": "429"}
    assert "is one of these" not in text_of(body(sam.get(REFUSED, other)))


def test_row_is_of_one_key_status_reason_path_and_minute(flood: Flood, flusher: ModuleType) -> None:
    differences: list[dict[str, Any]] = [
        {},
        {"path": "/api/v1/documents"},
        {"status": 400},
        {"reason": "The other."},
        {"key_id": None, "address": "192.0.2.1"},
        {"key_id": None, "address": "192.0.2.2"},
        {"at": MINUTE + timedelta(minutes=1)},
    ]
    for each in differences * 2:
        flood(3, **each)
    flusher.flush()
    assert counts() == [(6, 0)] * len(differences)


def test_outage_is_one_row_whatever_was_asked_for(
    acme: Tenant, flusher: ModuleType, sam: Client, ada: Client, way_to_storage: Proxy
) -> None:
    """An admin reads its words, but not how long the client was to wait."""
    documents = [factories.document(acme.workspace) for _ in range(3)]
    way_to_storage.refuse()
    responses = [acme.get(f"/documents/{each.pk}/download") for each in documents]
    row = row_of(responses[0], flusher)
    assert (row.requests, row.others, row.reason) == (3, 2, "object storage was out of reach")
    ids = [response.headers["request-id"] for response in responses]
    assert [each.hex for each in row.request_ids] == ids
    opened = text_of(body(sam.get(f"{REFUSED}?request_id__exact={ids[2]}&open={row.pk}")))
    assert f"Request id {ids[2]} one of 3" in opened
    assert f"2 other requests, and {row.path}" in opened
    assert f"First request, whose path alone is kept GET {row.path}" in opened
    assert documents[0].title not in opened
    for url in (REFUSED, page_of(acme.key)):
        text = text_of(body(ada.get(url)))
        assert "The service cannot respond right now." in text
        assert "Try again in" not in text


def test_key_over_its_limit_has_one_row_without_the_seconds_to_wait(
    acme: Tenant, flusher: ModuleType
) -> None:
    acme = used_up(acme)
    responses = [acme.get("/me") for _ in range(3)]
    row = row_of(responses[0], flusher)
    assert (row.requests, row.reason) == (3, "over 300 requests a minute")
    assert [each.hex for each in row.request_ids] == [r.headers["request-id"] for r in responses]


def test_key_has_3_rows_of_a_reason_a_minute_and_the_last_counts_the_others(
    flood: Flood, flusher: ModuleType
) -> None:
    ids: list[UUID] = []
    for flushed in (1, 2):
        ids += [flood(2, path=path)[0] for path in paths(0, 25)]
        flusher.flush()
        assert counts() == [(2 * flushed, 0)] * 2 + [(46 * flushed, 44 * flushed)]
    assert all(find_request(id.hex) for id in ids[:30])


def test_flood_of_many_paths_hides_no_other_status_or_reason(
    acme: Tenant, flood: Flood, flusher: ModuleType
) -> None:
    """A program that asks for one document after the other is over its limit in that minute."""
    for flushed in (1, 2):
        flood(reason="Not complete.")
        for path in paths(0, 99):
            flood(path=path)
        flood(2, path="/api/v1/documents", reason="Not complete.")
        flood(420, status=429, reason="Over the limit.")
        for status in (400, 403, 405, 412):
            flood(status=status, reason="Once.")
        flusher.flush()
        found = report.kinds(RefusedRequest.objects.all(), "status", "reason")
        assert {(each.status, each.reason): each.requests for each in found} == {
            (404, "Nothing."): 99 * flushed,
            (404, "Not complete."): 3 * flushed,
            (429, "Over the limit."): 420 * flushed,
            **{(status, "Once."): flushed for status in (400, 403, 405, 412)},
        }
        assert len(counts()) == 10
    assert numbers(KeyUsage.objects.get()) == Usage(errors=212, limited=840)


def test_flood_of_missing_documents_hides_no_request_with_another_reason(
    acme: Tenant, flusher: ModuleType
) -> None:
    for number in range(11):
        acme.get(f"/documents/{uid(number)}")
    draft = factories.document(acme.workspace)
    row_of(acme.get(f"{path_of(draft)}/download?type=signed"), flusher)
    assert counts() == [(1, 0), (1, 0), (9, 8), (1, 0)]


def test_flood_of_many_forms_is_shown_as_what_it_is(
    acme: Tenant, umbrella: Tenant, flood: Flood, flusher: ModuleType, desk: Client
) -> None:
    """What may be a key that has ended has a row until that is known."""
    umbrella.key.revoke(by=umbrella.admin)
    now = timezone.now()
    for path in paths(0, 100):
        flood(at=now, path=path)
    for number in range(120):
        if number == 5:
            umbrella.get("/me")
            get("/api/v1/me", FORGED.format(prefix=acme.key.prefix))
        get("/api/v1/me", f"Bearer dtd_{number:08}{'Z' * 32}")
    flusher.flush()
    start, log = (text_of(body(desk.get(url))) for url in (START, REFUSED))
    assert "refused or failed 222 over" in start
    assert f"100 × 404 {acme.key} Nothing. Acme just now" in start
    verdict = "Nothing to do, unless you know the address."
    assert f"120 × 401 127.0.0.1 {UNKNOWN} {verdict} just now" in start
    assert start.count(verdict) == 1  # not of a key that is known
    for each in (
        f"401 {umbrella.key} The key was revoked at",
        f"98 × 404 {acme.key} Nothing. 97 other requests, and /api/v1/documents/2 ",
        f"118 × 401 127.0.0.1 {UNKNOWN} 117 requests with other keys or paths, and /api/v1/me "
        "with dtd_00000002… ",
    ):
        assert each in log, log


def test_flushes_of_one_minute_add_up(flood: Flood, flusher: ModuleType) -> None:
    first = flood(50)
    flusher.flush()
    second = flood(30)
    for path in paths(0, 15):
        flood(path=path)
    flusher.flush()
    for path in paths(15, 10):
        flood(path=path, status=405)
    flusher.flush()
    row = RefusedRequest.objects.get(path="/api/v1")
    assert row.request_ids[:-1] == [*first, *second[:10]]
    assert row.last_at == MINUTE + timedelta(milliseconds=98)
    assert sum(requests for requests, _ in counts()) == 105
    assert len(counts()) == 6


@pytest.mark.django_db(transaction=True)
def test_two_processes_that_write_the_same_minute_add_up(flood: Flood, flusher: ModuleType) -> None:
    """The second waits for the first, and adds to its rows."""
    for path in paths(0, 2):
        flood(2, path=path)
    flush = threading.Thread(target=flusher.flush)
    with transaction.atomic():
        flusher.write(*BUFFER.take())
        for path in reversed(paths(1, 2)):
            flood(3, path=path)
        flush.start()
        assert eventually(waiting_for_lock)
    flush.join()
    assert sorted(counts()) == [(2, 0), (3, 0), (5, 0)]


def test_revoked_key_is_one_row_of_all_networks(
    acme: Tenant, settings: Any, flusher: ModuleType
) -> None:
    settings.TRUSTED_PROXIES = 1
    acme.key.revoke(by=acme.admin)
    ids = []
    for network in ("192.0.2.1", "192.0.2.2", "192.0.2.1", "192.0.2.3"):
        response = get("/api/v1/me", acme.bearer, X_Forwarded_For=network)
        ids.append(response.headers["request-id"])
        if len(ids) > 2:
            flusher.flush()
    row = RefusedRequest.objects.get()
    assert row.requests == 4
    assert sorted(each.hex for each in row.request_ids) == sorted(ids)


def unknown(addresses: Iterable[str]) -> None:
    for address in addresses:
        assert get("/api/v1/me", X_Forwarded_For=address).status == 401


def test_flood_from_an_ipv6_network_is_one(settings: Any, flusher: ModuleType) -> None:
    settings.TRUSTED_PROXIES = 1
    unknown(f"2001:db8:1:2::{number:x}" for number in range(10))
    unknown(["2001:db8:1:3::1"])
    flusher.flush()
    assert RefusedRequest.objects.get(requests=10).address == "2001:db8:1:2::/64"
    assert RefusedRequest.objects.get(requests=1).address == "2001:db8:1:3::/64"


def test_flood_from_many_networks_is_bounded_and_each_request_of_a_key_is_counted(
    acme: Tenant, settings: Any, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.TRUSTED_PROXIES = 1
    monkeypatch.setattr(middleware, "NETWORKS", 3)
    unknown(f"192.0.2.{number}" for number in range(10))
    unknown(f"192.0.2.{number}" for number in range(10))
    for number in range(25):
        acme.get(f"/nothing/{number}")
    flusher.flush()
    networks = RefusedRequest.objects.filter(key_id=None)
    assert [row.requests for row in networks] == [2, 2, 2]
    rows = RefusedRequest.objects.filter(key_id=acme.key.pk)
    assert sum(row.requests for row in rows) == 25
    assert usage_of(acme.key.pk).errors == 25


def test_refusals_of_keys_that_cannot_be_written_are_bounded(
    flood: Flood, flusher: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "NETWORKS", 3)
    for minute in range(100):
        flood(at=MINUTE + timedelta(minutes=minute))
    assert len(BUFFER.refused) == 60


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


def test_purge_keeps_the_newest_and_keys_longest(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purge, "WITHOUT_KEY_KEPT", 3)
    monkeypatch.setattr(purge, "REFUSED_KEPT", 8)
    refused(5)
    refused(2, created_at=factories.at("2026-01-01 12:00:00"))  # older than 30 days
    old = refused(7, key_id=uid(1), created_at=lambda n: timezone.now() - timedelta(days=1 + n))
    assert not purge.purge()
    rows = RefusedRequest.objects.order_by("-created_at", "-id")
    assert [row.key_id for row in rows] == [None] * 3 + [uid(1)] * 5
    assert rows.last() == old[4]


@pytest.mark.usefixtures("housekeeping")
def test_workspace_needs_a_look_if_a_key_is_refused_a_hundred_times_a_day(
    acme: Tenant, umbrella: Tenant
) -> None:
    for tenant, number in ((acme, 40), (umbrella, 39)):
        refused(**vars(tenant.key.snapshot()), requests=60)
        refused(**vars(tenant.key.snapshot()), requests=number, path="/api/v1/documents/y")
    named = f"100 × 404 {acme.key} was refused very often , the last time just now"
    why = "There is no such document in this workspace. Correct that program."
    text = text_of(body(signed_in(acme.admin).get(START)))
    assert f"{named} : {why}" in text
    assert named in text
    assert "API access" not in text
    text = text_of(body(signed_in(umbrella.admin).get(START)))
    assert "All is well" in text
    assert "API access" in text
    sam = signed_in(support())
    text = text_of(body(sam.get(START)))
    assert "1 workspace needs a look: Acme The rest is well." in text
    assert "Workspaces that need a look Their admins read this too." in text
    assert f"Acme {named} : {why}" in text
    RefusedRequest.objects.update(last_at=timezone.now() - timedelta(minutes=6))
    text = text_of(body(sam.get(START)))
    assert "1 workspace needs a look" not in text
    assert "No workspace needs a look Name Why, and what to do What is over" in text
    over = why.replace("Correct that program.", "That is over.")
    assert f"{acme.key} was refused very often , the last time 6 minutes ago : {over}" in text


def test_log_of_a_document_leads_to_no_log_that_has_no_documents(sam: Client) -> None:
    for query, is_there in (("", True), (f"?document_id__exact={uid(1)}", False)):
        assert (f'href="{REFUSED}' in body(sam.get(HISTORY + query))) is is_there


def test_log_of_a_key_says_what_became_of_it(
    acme: Tenant, frozen: Tenant, sam: Client, ada: Client
) -> None:
    def log(client: Client, tenant: Tenant, url: str = HISTORY) -> str:
        return text_of(body(client.get(url, {"key_id__exact": str(tenant.key.pk)})))

    refused(**vars(acme.key.snapshot()), requests=8)
    refused(**vars(acme.key.snapshot()), status=429, requests=100)
    for tenant in (acme, frozen):  # mistyped, or deleted
        refused(status=401, requests=25, key_prefix=tenant.key.prefix)
    for url in (HISTORY, REFUSED):
        state = "State Active Last used never Last 30 days 0 requests, 0 refused or failed"
        rest = "Refused in the last 24 hours 100 × 429 , 8 × 404"
        also = rest.replace("8 ×", "25 × 401 of what begins like it, 8 ×")
        assert f"{state} {also}" in log(sam, acme, url)
        assert f"{state} {rest}" in log(ada, acme, url)
    assert "Active Refused at present Frozen is suspended: its keys are ref" in log(sam, frozen)
    ended = "State There is no such key any more"
    assert f"{ended}: whether a program still sends it is not known" in log(ada, frozen)
    ENDS["revoked"](acme)
    assert re.search(f"State Revoked {TIME} by admin@acme.example Last used", log(ada, acme))
    ENDS["deleted"](frozen)
    assert f"{ended} Refused in the last 24 hours 25 × 401 of what begins" in log(sam, frozen)


@pytest.mark.parametrize("status", [402, 403])
def test_workspace_without_access_that_still_asks_needs_no_look(
    frozen: Tenant, sam: Client, status: int
) -> None:
    """Its admins read that its keys are refused, in a line of its own."""

    def now(suspended: bool, plan: str) -> list[str]:
        Workspace.objects.filter(pk=frozen.workspace.pk).update(suspended=suspended, plan=plan)
        pages = [body(client.get(START)) for client in (sam, signed_in(frozen.admin))]
        assert '<li class="warn">' not in "".join(pages)
        return [text_of(page) for page in pages]

    refused(**vars(frozen.key.snapshot()), status=status, requests=6)
    asks = f"6 × {status} {frozen.key} was refused , the last time just now :"
    staff, own = now(status == 403, "FREE")
    assert f"{asks} as {'it is suspended' if status == 403 else 'its plan does not'}" in staff
    assert "Frozen" in own
    assert f"6 × {status}" not in own
    own_page = body(signed_in(frozen.admin).get(page_of(frozen.workspace)))
    assert ("Change the plan" in own_page) == (status == 402)
    for_the_other_reason = {402: (True, "PRO"), 403: (False, "FREE")}[status]
    for suspended, plan in ((False, "PRO"), for_the_other_reason):
        staff, own = now(suspended, plan)
        assert f"{asks} that is over." in staff
        assert "that is over" not in own


def test_chips_name_what_an_empty_list_is_of_to_those_who_may_know_it(
    acme: Tenant, umbrella: Tenant, sam: Client, ada: Client
) -> None:
    within = f"workspace_id__exact={acme.workspace.pk}&key_id__exact={acme.key.pk}"
    chips = [text for _, text, _ in shown(sam, f"?{within}", REFUSED).chips]
    assert chips == ["Acme", f"{acme.key.prefix}… Acme sync"]
    [(_, text, _)] = shown(ada, f"?key_id__exact={umbrella.key.pk}", REFUSED).chips
    assert text == str(umbrella.key.pk)
