"""Refused requests in the admin, and what the start page says of the usage of keys."""

import re
from datetime import timedelta
from types import ModuleType
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apikeys.keys import today
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.console.keyset import Position
from tests.support import factories, staff
from tests.support.cast import nodes, page_of, plan, text_of
from tests.support.client import get
from tests.support.factories import Tenant, uid
from tests.support.staff import analyze, asked, errors, of, shown, signed_in
from tests.support.usage import refused, used
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


def html(response: Any) -> str:
    assert response.status_code == 200
    return staff.body(response)


def test_requests_are_seen_by_staff_and_by_admins_of_their_workspace(
    acme: Tenant, umbrella: Tenant
) -> None:
    rows = [
        *refused(status=401, reason="No Authorization header."),
        *refused(**of_key(umbrella), request_id="a" * 32),
        *refused(**of_key(acme, status=429, more=4120)),
        *refused(**of_key(acme), reason="It belongs to another workspace."),
    ]
    for client in (signed_in(staff.support()), signed_in(staff.operator())):
        assert sorted(seen(client)) == sorted(row.pk for row in rows)
        assert all(client.get(page_of(row)).status_code == 200 for row in rows)
    client = signed_in(acme.admin)
    assert set(seen(client)) == {row.pk for row in rows[2:]}
    assert [client.get(page_of(row)).status_code for row in rows] == [404, 404, 200, 200]
    assert seen(client, f"?q={'a' * 32}") == []


def test_filters_narrow_the_list(acme: Tenant, umbrella: Tenant, sam: Client) -> None:
    ages = (timedelta(minutes=5), timedelta(hours=5), timedelta(days=5), timedelta(days=25))
    old = refused(4, created_at=lambda number: timezone.now() - ages[number])
    for period, count in {"": 4, "1h": 1, "24h": 2, "7d": 3}.items():
        assert seen(sam, f"?within={period}") == [row.pk for row in old[:count]]
    [own] = refused(
        **of_key(acme, status=401, path=f"/api/v1/documents/{uid(9, 3)}/download"),
        request_id="92fe0e65" + "a" * 24,
    )
    for query in (
        "status__exact=401",
        f"workspace_id__exact={acme.workspace.pk}",
        f"key_id__exact={acme.key.pk}&status__exact=401",
        f"q=Request-Id: {own.request_id}",
        "q=92fe0e65...",
        f"q=see https://api.example/api/v1/documents/{uid(9, 3)}/download?type=signed, please",
        f"q={acme.key.prefix}",
        f"q=key={acme.key.pk}",
        f"q={acme.workspace.pk}",
    ):
        assert seen(sam, f"?{query}") == [own.pk], query
        assert seen(signed_in(acme.admin), f"?{query}") == [own.pk], query
    for query, error in {
        "q=Acme": "This cannot be searched for. A request id or its first 8 characters",
        "q=203.0.113.9": "This cannot be searched for.",
        "status__exact=418": "Select a valid choice",
    }.items():
        assert error in str(errors(sam, f"?{query}", LIST)), query


def test_list_counts_what_has_no_row_and_has_pages(acme: Tenant) -> None:
    noon = factories.at("2026-03-01 12:00:00")
    refused(**of_key(acme, created_at=noon, status=429, more=1200))
    client = signed_in(acme.admin)
    day = "?since=2026-03-01&until=2026-03-01"
    assert "1,201 × 429" in text_of(html(client.get(LIST + day)))
    made = refused(450, **of_key(acme))
    found, query = [], "?within=24h"
    while query is not None:
        each = shown(client, query, LIST)
        found += [row.pk for row in each.result_list]
        query = each.older_url
    assert found == [row.pk for row in made]


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
    "q=0000001c": {"refused_request"},
    f"q={28:08x}{'f' * 24}": OF_KEY | OF_WORKSPACE | {"refused_request"},
    f"q={uid(20, 2)}": OF_KEY | OF_WORKSPACE | {"refused_request"},
    f"q=/api/v1/documents/{uid(30, 3)}": {"refused_path"},
}


def tables_are_read_by(client: Client, url: str) -> set[str]:
    """The indexes that a page is read from; no table of usage is read without one."""
    found: set[str] = set()
    for sql in asked(client, url):
        if 'FROM "usage_' in sql:
            assert "COUNT(" not in sql
            assert "OFFSET" not in sql
            for node in nodes(plan(sql)):
                assert node["Node Type"] != "Seq Scan", sql
                found.add(node.get("Index Name", ""))
    return found - {"", "usage_refusedrequest_pkey"}


@pytest.mark.slow
@pytest.mark.usefixtures("as_owner")
def test_every_filter_and_page_reads_indexes_at_any_depth(acme: Tenant, sam: Client) -> None:
    refused(
        ROWS,
        created_at=lambda n: timezone.now() - timedelta(minutes=n),
        status=lambda n: 429 if n % 50 == 0 else 404 if n % 3 else 401,
        key_id=lambda n: uid(n % 100, 2),
        key_prefix=lambda n: f"dtd_{n % 100:08}",
        workspace_id=lambda n: uid(n % 50, 1),
        path=lambda n: f"/api/v1/documents/{uid(n % 300, 3)}",
    )
    KeyUsage.objects.bulk_create(
        KeyUsage(
            key_id=uid(number % 300, 2),
            day=today() - timedelta(days=number // 300),
            workspace_id=uid(number % 100, 1),
            ok=1,
            errors=0,
            limited=number % 2,
            downloads=0,
        )
        for number in range(300 * 20)
    )
    analyze("usage_refusedrequest", "usage_keyusage")
    middle = RefusedRequest.objects.order_by("created_at")[ROWS // 3]
    deep = quote(str(Position(middle.created_at, middle.pk)))
    for query, indexes in READ_FROM.items():
        for address in (f"?{query}", f"?{query}&after={deep}"):
            assert tables_are_read_by(sam, LIST + address) <= indexes, address
    admin = signed_in(acme.admin)
    assert tables_are_read_by(sam, INDEX)
    assert tables_are_read_by(admin, INDEX)
    assert tables_are_read_by(admin, reverse("admin:apikeys_apikey_changelist"))


# --- The start page ---


def start(user: User) -> str:
    return html(signed_in(user).get(INDEX))


def test_start_page_of_an_admin_has_a_chart_of_own_workspaces(
    acme: Tenant, umbrella: Tenant
) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=1190, errors=8, limited=6, downloads=36)
    used(umbrella.key.pk, umbrella.workspace.pk, ok=77)
    text = text_of(start(acme.admin))
    figures = "Acme, last 30 days requests 1,204 downloads 36 errors 8 over the limit 6"
    assert figures in text
    assert f"{today()}: 1,190 successful, 8 errors, 6 over the limit, 36 downloads" in text
    assert f"{today() - 29 * DAY}: none" in text
    assert f"({acme.key.prefix}…) was over the limit: 6 requests refused today" in text
    assert "Umbrella" not in text
    assert "77" not in text


def test_start_page_of_an_admin_names_an_ended_key_that_is_still_used(
    acme: Tenant, umbrella: Tenant, flusher: ModuleType
) -> None:
    acme.key.revoke(by=acme.admin)
    for _ in range(3):
        acme.get("/me")
    get("/api/v1/me", f"Bearer {acme.key.prefix}{'Z' * 32}")  # whose rest is a guess
    flusher.flush()
    refused(**of_key(acme, status=401, cause="invalid_key"), created_at=timezone.now() - DAY * 2)
    page = start(acme.admin)
    [line] = re.findall(r'<li class="banner banner-bad">(.*?)</li>', page)
    text = text_of(line).replace("“ ", "“").replace(" ”", "”")
    named = f"The key “Acme sync” ({acme.key.prefix}…) has ended and is still used: 3 requests"
    assert text.startswith(named)
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


def test_part_of_the_start_page_fails_alone(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=5)

    def late(*_: Any) -> list[Any]:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr("audit.admin.list.latest_downloads", late)
    text = text_of(start(acme.admin))
    assert "Audit log: not available at the moment. Reload the page." in text
    assert "Acme, last 30 days requests 5" in text


def test_start_page_of_support_has_the_newest_requests_of_known_keys(
    acme: Tenant, umbrella: Tenant, sam: Client
) -> None:
    refused(10, status=401, reason="No Authorization header.")
    refused(1, **of_key(acme, status=429, more=1019), reason="")
    [theirs] = refused(1, **of_key(umbrella), created_at=timezone.now() - DAY)
    used(acme.key.pk, acme.workspace.pk, limited=1020)
    page = html(sam.get(INDEX))
    text = text_of(page)
    assert "No Authorization header." not in text
    assert "429 1,020 × There is no such document" in text
    assert "404 No document has this id." in text
    assert reverse("admin:usage_refusedrequest_change", args=[theirs.pk]) in page
    assert reverse("admin:workspaces_workspace_change", args=[acme.workspace.pk]) in page
    assert "All workspaces" not in text
    operators = text_of(start(staff.operator()))
    assert "All workspaces, last 30 days requests 1,020 downloads 0" in operators


def test_workspace_of_many_admins_costs_as_many_queries(acme: Tenant) -> None:
    def count() -> int:
        return len(asked(signed_in(acme.admin), INDEX))

    before = count()
    for number in range(5, 9):
        other = factories.tenant(f"Other{number}", "PRO", number)
        Membership.objects.create(workspace=other.workspace, user=acme.admin, role="ADMIN")
    assert count() == before
