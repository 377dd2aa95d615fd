"""Refused requests in the admin, and what the start page says of the usage of keys."""

import re
from datetime import timedelta
from types import ModuleType
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.states import today
from apikeys.usage import report
from apikeys.usage.models import KeyUsage, RefusedRequest
from apikeys.usage.reasons import NO_DOCUMENT
from audit.admin import histogram
from config.api.errors import HttpsRequired, WorkspaceSuspended
from config.console.keyset import Position
from tests.documents.test_queries import nodes, plan
from tests.support import factories, staff
from tests.support.factories import Tenant, uid
from tests.support.staff import analyze, asked, errors, of, shown, signed_in
from tests.support.usage import find_request, refused, used
from workspaces.models import Membership

LIST = reverse("admin:usage_refusedrequest_changelist")
INDEX = reverse("admin:index")
DAY = timedelta(days=1)


def of_key(tenant: Tenant, **fields: Any) -> dict[str, Any]:
    key = tenant.key
    facts = {"key_id": key.pk, "key_name": key.name, "key_prefix": key.prefix}
    return of(tenant.workspace, **facts, **fields)


def seen(client: Client, query: str = "") -> list[int]:
    return [row.pk for row in shown(client, query, LIST).result_list]


def page(client: Client, row: RefusedRequest) -> Any:
    return client.get(reverse("admin:usage_refusedrequest_change", args=[row.pk]))


def html(response: Any) -> str:
    assert response.status_code == 200
    return str(response.content.decode())


@pytest.fixture
def rows(acme: Tenant, umbrella: Tenant) -> dict[str, RefusedRequest]:
    """One refused request of each kind."""
    [unknown] = refused(status=401, reason="No key of this service begins with dtd_ZZZZZZZZ.")
    [theirs] = refused(**of_key(umbrella), request_id="a" * 32)
    [limited] = refused(**of_key(acme, status=429, more=4120), request_id="b" * 32)
    [foreign] = refused(
        **of_key(acme, document_id=uid(9, 3), address="203.0.113.9"),
        request_id="c" * 32,
        reason="The document belongs to another workspace: “Umbrella”.",
    )
    return {"unknown": unknown, "theirs": theirs, "limited": limited, "foreign": foreign}


def test_requests_are_seen_by_staff_and_by_admins_of_their_workspace(
    acme: Tenant, rows: dict[str, RefusedRequest]
) -> None:
    for client in (signed_in(staff.support()), signed_in(staff.operator())):
        assert sorted(seen(client)) == sorted(row.pk for row in rows.values())
        assert all(page(client, row).status_code == 200 for row in rows.values())
    client = signed_in(acme.admin)
    own = {rows["limited"].pk, rows["foreign"].pk}
    assert set(seen(client)) == own
    for name, row in rows.items():
        assert page(client, row).status_code == (200 if row.pk in own else 404), name
    assert seen(client, f"?q={'a' * 32}") == []


def test_filters_narrow_the_list(acme: Tenant, umbrella: Tenant) -> None:
    sam = signed_in(staff.support())
    ages = (timedelta(minutes=5), timedelta(hours=5), timedelta(days=5), timedelta(days=25))
    old = refused(4, created_at=lambda number: timezone.now() - ages[number], address="203.0.113.1")
    for period, count in {"": 4, "1h": 1, "24h": 2, "7d": 3}.items():
        assert seen(sam, f"?within={period}") == [row.pk for row in old[:count]]
    assert len(seen(sam, "?q=203.0.113.1")) == len(seen(sam, "?address__exact=203.0.113.1")) == 4
    [own] = refused(**of_key(acme, status=401), address="2001:db8::1")
    for query in (
        "status__exact=401",
        f"workspace_id__exact={acme.workspace.pk}",
        "q=2001:DB8:0::1",
        f"q={acme.key.prefix}",
        f"q={acme.key.pk}",
        f"key_id__exact={acme.key.pk}&status__exact=401",
        f"q={acme.workspace.pk}",
    ):
        assert seen(sam, f"?{query}") == [own.pk], query


NOT_VALID = {
    "q=Acme": "Enter a request id or its first 8 characters",
    "q=dtd_abc": "Enter a request id",
    "q=/api/v1/documents/nope": "the id or URL of a document",
    f"q={'x' * 501}": "at most 500 characters",
    "q=%00": "Null characters",
    "status__exact=418": "Select a valid choice",
    "key_id__exact=x": "This is not an id",
    "workspace_id__exact=Nobody": "No workspace has this name, or this id",
    "address__exact=localhost": "valid IPv4 or IPv6",
}


def test_filter_that_is_not_valid_says_so(sam: Client) -> None:
    for query, error in NOT_VALID.items():
        assert error in str(errors(sam, f"?{query}", LIST)), query


PASTED = {
    "Request-Id: {request}": "Request id “{request}”",
    "what is “{request}”?": "Request id “{request}”",
    "request-id: {short}…, please": "Beginning of a request id “{short}”",
    "{short}...": "Beginning of a request id “{short}”",
    "https://api.acme.example/api/v1/documents/{document}/download": "Document id “{document}”",
    "document '{document}'": "Id of a document, key or workspace “{document}”",
    "key={key}": "Id of a document, key or workspace “{key}”",
    "from [203.0.113.9]": "Address “203.0.113.9”",
    "{prefix}": "First characters of a key “{prefix}”",
}


def test_search_understands_what_is_pasted(acme: Tenant, sam: Client) -> None:
    request = "92fe0e65" + "a" * 24
    facts = of_key(acme, document_id=uid(9, 3))
    [row] = refused(**facts, request_id=request, address="203.0.113.9")
    refused(3)
    values = {"request": request, "short": request[:8], "document": uid(9, 3)}
    values |= {"key": acme.key.pk, "prefix": acme.key.prefix}
    for client in (sam, signed_in(acme.admin)):
        for pasted, recognised in PASTED.items():
            found = shown(client, f"?q={quote(pasted.format(**values))}", LIST)
            assert [each.pk for each in found.result_list] == [row.pk], pasted
            assert found.recognised_text == recognised.format(**values)


def test_foreign_document_reads_unknown(
    acme: Tenant, umbrella: Tenant, flusher: ModuleType
) -> None:
    theirs, unknown = factories.document(umbrella.workspace).pk, uid(9, 3)
    client = signed_in(acme.admin)
    read = []
    for id in (theirs, unknown):
        request = acme.get(f"/documents/{id}").headers["request-id"]
        assert flusher.flush()
        [row] = shown(client, f"?q={id}", LIST).result_list
        texts = [
            text_of(html(each)) for each in (client.get(LIST, {"q": str(id)}), page(client, row))
        ]
        assert NO_DOCUMENT in texts[0]
        times = r"(\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d"
        ids = f"{id}|{request}|{request[:8]}"
        read.append([re.sub(times, "TIME", re.sub(ids, "ID", text)) for text in texts])
    assert read[0] == read[1]


def test_equal_refusals_are_one_line_with_their_count(acme: Tenant, umbrella: Tenant) -> None:
    start = factories.at("2026-03-01 21:05:40")
    flood: Any = of_key(acme, status=429, created_at=lambda n: start - timedelta(seconds=10 * n))
    refused(15, **flood, more=lambda n: 11 if n == 3 else 0)  # 21:03:20 to 21:05:40
    [earlier] = refused(**of_key(acme, status=429, created_at=start - timedelta(minutes=5)))
    [other] = refused(**of_key(umbrella, status=429, created_at=start - timedelta(seconds=5)))
    sam = signed_in(staff.support())
    groups = shown(sam, "", LIST).groups
    assert [(len(each.rows), each.count) for each in groups] == [(15, 26), (1, 1), (1, 1)]
    assert [each.last.pk for each in groups[1:]] == [other.pk, earlier.pk]
    text = text_of(html(sam.get(LIST)))
    assert (
        "26 × over the limit, 2026-03-01 21:03:20 UTC to 2026-03-01 21:05:40 UTC . "
        "Of these, 15 are kept with their request ids." in text
    )


def test_403_is_called_what_it_was_refused_for(acme: Tenant, umbrella: Tenant, sam: Client) -> None:
    causes = {acme: WorkspaceSuspended.code, umbrella: HttpsRequired.code}
    for tenant, cause in causes.items():
        refused(2, **of_key(tenant, status=403, cause=cause))
    text = text_of(html(sam.get(LIST)))
    for label in ("suspended", "no HTTPS"):
        assert f" 403 2 × {label} " in text


def test_chip_of_a_filter_names_its_choice(sam: Client) -> None:
    for status, text in (("404", "404 · not found"), ("418", "418")):
        [chip] = shown(sam, f"?status__exact={status}", LIST).chips
        assert chip["text"] == text


def test_search_without_a_result_leads_to_the_audit_log(sam: Client) -> None:
    log = reverse("admin:audit_auditentry_changelist")
    for pasted, text in (
        ("'203.0.113.77'", "Nothing matches. Looked for: Address “203.0.113.77”."),
        ("sam@acme.example", "Names, e-mails and other text can only be searched for in the"),
    ):
        found = html(sam.get(LIST, {"q": pasted}))
        assert text in found
        assert f'href="{log}?{urlencode({"q": pasted})}"' in found
    narrowed = html(sam.get(LIST, {"q": "203.0.113.77", "within": "1h"}))
    assert 'href="?q=203.0.113.77">Search without the other filters' in narrowed
    assert "Search the audit log</a>" not in html(sam.get(LIST, {"q": "a\0b"}))


def test_chart_counts_floods_by_hour(acme: Tenant) -> None:
    noon = factories.at("2026-03-01 12:00:00")
    refused(**of_key(acme, created_at=noon))
    refused(**of_key(acme, created_at=noon, status=429, more=1200), request_id="f" * 32)
    chart = shown(signed_in(acme.admin), "?since=2026-03-01&until=2026-03-01", LIST).chart
    assert "2026-03-01 12:00: 1 errors, 1,201 over the limit" in chart
    assert "2026-03-01 11:00: none" in chart


def test_pages_of_groups_have_each_request_once(acme: Tenant) -> None:
    hour = timedelta(hours=1)
    made = refused(120, **of_key(acme), created_at=lambda n: timezone.now() - n * hour)
    client, found, query = signed_in(acme.admin), [], ""
    while query is not None:
        each = shown(client, query, LIST)
        found += [row.pk for row in each.result_list]
        assert len(each.groups) <= 50
        query = each.older_url
    assert found == [row.pk for row in made]
    newer = shown(client, shown(client, shown(client, "", LIST).older_url, LIST).newer_url, LIST)
    assert [row.pk for row in newer.result_list] == found[:50]


# --- The queries ---

ROWS = 2500
OF_KEY, OF_WORKSPACE = ({f"refused_{of}", f"refused_{of}_status"} for of in ("key", "workspace"))
# The indexes that a page may be read from; of few rows, either of two.
READ_FROM = {
    "": {"refused_newest"},
    "status__exact=429": {"refused_status"},
    "within=24h": {"refused_newest"},
    f"key_id__exact={uid(20, 2)}": OF_KEY,
    f"key_id__exact={uid(20, 2)}&status__exact=404": OF_KEY,
    f"workspace_id__exact={uid(20, 1)}": OF_WORKSPACE,
    f"workspace_id__exact={uid(20, 1)}&status__exact=404": OF_WORKSPACE,
    "address__exact=203.0.113.20": {"refused_address"},
    "q=203.0.113.20": {"refused_address"},
    "q=dtd_00000020": {"refused_prefix"},
    "q=0000001c": {"refused_request"},
    f"q={28:08x}{'f' * 24}": OF_KEY | OF_WORKSPACE | {"refused_document", "refused_request"},
    f"q={uid(20, 2)}": OF_KEY | OF_WORKSPACE | {"refused_document"},
    f"q=documents/{uid(30, 3)}": {"refused_document"},
}


@pytest.fixture
def many(acme: Tenant) -> None:
    refused(
        ROWS,
        created_at=lambda n: timezone.now() - timedelta(minutes=n),
        status=lambda n: 429 if n % 50 == 0 else 404 if n % 3 else 401,
        key_id=lambda n: uid(n % 100, 2),
        key_prefix=lambda n: f"dtd_{n % 100:08}",
        workspace_id=lambda n: uid(n % 50, 1),
        document_id=lambda n: uid(n % 300, 3) if n % 3 else None,
        address=lambda n: f"203.0.113.{n % 200}",
    )
    analyze("usage_refusedrequest")


def indexes_of(client: Client, query: str) -> set[str]:
    """The indexes that a page of the list is read from; nothing else is read of its table."""
    found: set[str] = set()
    for sql in asked(client, LIST + query):
        of_chart = f"LIMIT {histogram.MOST + 1}" in sql  # bounded in rows and in time
        if 'FROM "usage_refusedrequest"' in sql and not of_chart:
            assert "COUNT(" not in sql
            assert "OFFSET" not in sql
            for node in nodes(plan(sql)):
                assert node["Node Type"] != "Seq Scan", sql
                found.add(node.get("Index Name", ""))
    return found - {"", "usage_refusedrequest_pkey"}


@pytest.mark.usefixtures("as_owner")
def test_every_filter_and_search_reads_its_index_at_any_depth(many: None) -> None:
    sam = signed_in(staff.support())
    middle = RefusedRequest.objects.order_by("created_at")[ROWS // 3]
    deep = quote(str(Position(middle.created_at, middle.pk)))
    for query, indexes in READ_FROM.items():
        for address in (f"?{query}", f"?{query}&after={deep}"):
            assert indexes_of(sam, address) <= indexes, address


@pytest.mark.usefixtures("as_owner")
def test_reports_read_indexes(acme: Tenant) -> None:
    day = today()
    KeyUsage.objects.bulk_create(
        KeyUsage(
            key_id=uid(number % 300, 2),
            day=day - timedelta(days=number // 300),
            workspace_id=uid(number % 100, 1),
            ok=1,
            errors=0,
            limited=number % 2,
            downloads=0,
        )
        for number in range(300 * 20)
    )
    refused(1500, key_id=lambda n: uid(n % 300, 2))
    analyze("usage_keyusage", "usage_refusedrequest")
    sams = signed_in(staff.support())
    for sql in asked(sams, INDEX):
        if 'FROM "usage_' in sql:
            assert "Seq Scan" not in {node["Node Type"] for node in nodes(plan(sql))}, sql
    with CaptureQueriesContext(connection) as captured:
        report.daily([uid(1, 2), uid(2, 2)])
        list(report.addresses(uid(1, 2)))
        report.refused(("status", "reason"), key_id=uid(1, 2))
        find_request("00000001")
        report.daily([uid(1, 1), uid(2, 1)], of="workspace_id")
        report.limited_keys([uid(1, 1)])
        report.refused_ended_keys([uid(1, 1)])
        report.top_workspaces()
        report.refused(("key_id", "status", "reason"), key_id__isnull=False)
        report.refused(("key_id", "status", "reason"), key_id__isnull=False, status=401)
    for query in captured:
        if 'FROM "usage_keyaddress"' not in query["sql"] and 'FROM "usage_' in query["sql"]:
            types = {node["Node Type"] for node in nodes(plan(query["sql"]))}
            assert "Seq Scan" not in types, query["sql"]


# --- The start page ---


def start(user: User) -> str:
    return html(signed_in(user).get(INDEX))


def text_of(page: str) -> str:
    """What a reader sees."""
    return " ".join(re.sub(r"<[^>]+>", " ", page).split())


def test_start_page_of_an_admin_has_a_chart_of_own_workspaces(
    acme: Tenant, umbrella: Tenant
) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=1190, errors=8, limited=6, downloads=36)
    used(umbrella.key.pk, umbrella.workspace.pk, ok=77)
    ApiKey.objects.update(created_at=timezone.now() - timedelta(days=91))
    text = text_of(start(acme.admin))
    assert (
        "Acme, last 30 days requests 1,204 downloads 36 errors 8 over the limit 6 "
        "keys unused for 90 days 1" in text
    )
    day = today()
    assert f"{day}: 1,190 successful, 8 errors, 6 over the limit, 36 downloads" in text
    assert f"{day - timedelta(days=29)}: none" in text
    assert "was over the limit: 6 requests refused today" in text
    assert "All is well" not in text
    assert "Umbrella" not in text
    assert "77" not in text
    page = start(umbrella.admin)
    assert "banner-bad" not in page
    assert (
        "All is well. Looked at just now: API access and keys, webhooks, the seals of the audit "
        "log." in text_of(page)
    )
    assert "status__exact=429" not in page  # no link on a zero


def test_start_page_of_an_admin_names_an_ended_key_that_is_still_used(
    acme: Tenant, umbrella: Tenant, flusher: ModuleType
) -> None:
    acme.key.revoke(by=acme.admin)
    for _ in range(3):
        acme.get("/me")
    flusher.flush()
    refused(**of_key(acme, status=401, cause="invalid_key"), created_at=timezone.now() - DAY * 2)
    page = start(acme.admin)
    [line] = re.findall(r'<li class="banner banner-bad">(.*?)</li>', page)
    assert "“Acme sync” has ended and is still used: 3 requests of the last" in text_of(
        line
    ).replace("“ ", "“").replace(" ”", "”")
    assert reverse("admin:apikeys_apikey_change", args=[acme.key.pk]) in line
    assert "Acme sync" not in start(umbrella.admin)


def test_start_page_of_an_admin_has_the_last_downloads_of_own_workspaces(
    acme: Tenant, umbrella: Tenant
) -> None:
    for number, tenant in enumerate((acme, umbrella)):
        staff.happened(
            6,
            **of(tenant.workspace),
            document_title=lambda n, tenant=tenant: f"{tenant.workspace} {n}.",
            created_at=lambda n, number=number: timezone.now() - timedelta(minutes=2 * n + number),
        )
    text = text_of(start(acme.admin))
    assert [n for n in range(6) if f" Acme {n}." in text] == [0, 1, 2, 3, 4]
    assert "Umbrella" not in text
    Membership.objects.create(workspace=umbrella.workspace, user=acme.admin, role="ADMIN")
    text = text_of(start(acme.admin))
    assert re.findall(r" ((?:Acme|Umbrella) \d)\.", text) == [
        "Acme 0",
        "Umbrella 0",
        "Acme 1",
        "Umbrella 1",
        "Acme 2",
    ]


def test_part_of_the_start_page_fails_alone(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=5)

    def late(*_: Any) -> list[Any]:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr("audit.admin.list.latest_downloads", late)
    text = text_of(start(acme.admin))
    assert "Audit log: not available at the moment. Reload the page." in text
    assert "Acme, last 30 days requests 5" in text


def test_start_page_of_support_has_known_keys_once_for_each_reason(
    acme: Tenant, umbrella: Tenant, sam: Client
) -> None:
    [theirs, *_] = refused(
        3, **of_key(umbrella), created_at=lambda n: timezone.now() - timedelta(hours=n)
    )
    refused(10, status=401, reason="No Authorization header.")
    [first, *_] = refused(20, **of_key(acme, status=429, more=lambda n: 1000 if n == 3 else 0))
    earlier = {"created_at": timezone.now() - timedelta(days=1)}
    refused(1, **of_key(acme), **earlier)
    refused(2, **of_key(acme), **earlier, reason="The id in the path is malformed.")
    page = html(sam.get(INDEX))
    text = text_of(page)
    assert "No Authorization header." not in text
    assert "most requests" not in text
    assert "429 No document has this id. and 1,019 more" in text
    assert "404 No document has this id. and 2 more" in text
    assert "404 The id in the path is malformed. and 1 more" in text
    assert len(re.findall("No document has this id", text)) == 3
    assert f"{LIST}?key_id__exact={acme.key.pk}&amp;status__exact=429" in page
    for row in (theirs, first):
        assert reverse("admin:usage_refusedrequest_change", args=[row.pk]) in page
    assert reverse("admin:workspaces_workspace_change", args=[acme.workspace.pk]) in page


def test_pages_say_so_if_there_is_nothing_or_it_was_deleted(acme: Tenant, sam: Client) -> None:
    operator = staff.operator()
    text = text_of(start(operator))
    assert "No request of a known key was refused in the last 30 days." in text
    assert "There were no requests today (UTC)." in text
    assert "No key was used in the last 30 days." in text_of(start(acme.admin))
    used(uid(1, 9), uid(1, 9), limited=3)
    text = text_of(start(operator))
    assert "a deleted workspace" in text
    [row] = refused(key_prefix="dtd_ZZZZZZZZ", address="")
    text = html(page(sam, row))
    assert "dtd_ZZZZZZZZ…" in text
    assert row.request_id in text


def test_key_page_folds_refused_requests_by_their_reason(acme: Tenant, umbrella: Tenant) -> None:
    refused(6, **of_key(acme, status=429), reason="Over the limit.")
    earlier = timezone.now() - timedelta(days=1)
    for reason in ("No document has this id.", "It belongs to another workspace."):
        refused(2, **of_key(acme, document_id=uid(9, 3)), reason=reason, created_at=earlier)
    url = reverse("admin:apikeys_apikey_change", args=[acme.key.pk])
    text = text_of(html(signed_in(acme.admin).get(url)))
    assert "429 Over the limit. and 5 more like it" in text
    assert f"404 {NO_DOCUMENT} and 3 more like it" in text


def test_start_page_of_an_operator_has_the_top_workspaces(acme: Tenant, umbrella: Tenant) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=5, limited=1)
    used(umbrella.key.pk, umbrella.workspace.pk, ok=9)
    text = text_of(start(staff.operator()))
    assert re.search(
        r"most requests today .* Umbrella · 00000001 9 0 0 0 Acme · 00000001 6 0 0 1", text
    )
    assert "All workspaces, last 30 days requests 15 downloads 0 errors 0 over the limit 1" in text
    assert f"{today()}: 14 successful, 1 over the limit" in text
    assert "All workspaces" not in text_of(start(staff.support()))


def test_workspace_of_many_admins_costs_as_many_queries(acme: Tenant) -> None:
    def count() -> int:
        return len(asked(signed_in(acme.admin), INDEX))

    before = count()
    for number in range(5, 9):
        other = factories.tenant(f"Other{number}", "PRO", number)
        Membership.objects.create(workspace=other.workspace, user=acme.admin, role="ADMIN")
    assert count() == before
