"""Refused requests in the admin, and what the start page says of the usage of keys."""

import re
from datetime import timedelta
from html import unescape
from types import ModuleType
from typing import Any
from uuid import UUID

import pytest
from django.contrib.auth.models import User
from django.db import OperationalError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.usage.models import RefusedRequest, no_hours
from config.api.errors import ApiError
from events.webhooks.models import Endpoint
from tests.support import factories, staff
from tests.support.cast import indexes_of, page_of, path_of, text_of
from tests.support.client import get
from tests.support.factories import Tenant, uid
from tests.support.staff import analyze, asked, errors, shown, signed_in
from tests.support.usage import refused, used
from tests.support.webhooks import delivery, endpoint


def of_key(tenant: Tenant, **fields: Any) -> dict[str, Any]:
    return {**vars(tenant.key.snapshot()), **fields}


def seen(client: Client, query: str = "") -> list[int]:
    return [row.pk for row in shown(client, query, staff.REFUSED).result_list]


def html(response: Any) -> str:
    assert response.status_code == 200
    return staff.body(response)


def test_admins_read_the_true_reason_of_a_401_and_a_429_only(acme: Tenant, sam: Client) -> None:
    """Others would say what exists elsewhere, or what is wrong with our servers."""
    for status in (401, 404, 429, 500, 503):
        texts = {"reason": f"True {status}.", "response_text": f"Told {status}."}
        [row] = refused(**of_key(acme, status=status, path=f"/{status}", **texts))
        for client, sees_it in ((sam, True), (signed_in(acme.admin), status in (401, 429))):
            page = html(client.get(f"{staff.REFUSED}?open={row.pk}"))
            assert (f"True {status}" in page) == sees_it
            assert f"Told {status}" in page


def test_filters_narrow_the_list(acme: Tenant, umbrella: Tenant, sam: Client) -> None:
    ages = (timedelta(hours=5), timedelta(days=25))
    old = refused(2, created_at=lambda number: timezone.now() - ages[number])
    for period, count in {"": 2, "?within=24h": 1, "?within=24h&since=2000-01-01": 2}.items():
        assert seen(sam, period) == [row.pk for row in old[:count]]
    [own] = refused(
        **of_key(acme, status=401, path=f"/api/v1/documents/{uid(9, 3)}/download"),
        request_ids=[UUID("92fe0e65" + "a" * 24)],
    )
    for query in (
        "status__exact=401",
        f"workspace_id__exact={acme.workspace.pk}",
        f"key_id__exact={acme.key.pk}&status__exact=401",
        f"request_id__exact={own.request_ids[0].hex}",
    ):
        assert seen(sam, f"?{query}") == [own.pk], query
        assert seen(signed_in(acme.admin), f"?{query}") == [own.pk], query
    assert errors(sam, "?status__exact=418", staff.REFUSED)
    for kind in ApiError.__subclasses__():
        assert not shown(sam, f"?status__exact={kind.status_code}", staff.REFUSED).form.errors, kind


@pytest.mark.parametrize("deleted", [True, False])
def test_request_of_a_deleted_or_mistyped_key_is_for_support_and_admins_are_told_so(
    acme: Tenant, sam: Client, flusher: ModuleType, deleted: bool
) -> None:
    """Anybody may know a key's first characters, and could fill a workspace's list with them."""
    if deleted:
        acme.key.delete_by(by=acme.admin)
    response = get("/api/v1/me", f"Bearer {acme.key.prefix}{'Z' * 32}")
    flusher.flush()
    query, ada = f"?request_id__exact={response.headers['request-id']}", signed_in(acme.admin)
    reason = "which was deleted at" if deleted else "but the rest differs"
    assert reason in html(sam.get(f"{staff.REFUSED}{query}"))
    assert seen(ada, query) == seen(ada) == []
    said = "data-live>None.* only support staff see them"  # it looks again: it may come yet
    assert re.search(said, html(ada.get(f"{staff.REFUSED}{query}")))


def test_opened_request_says_each_thing_once_and_names_its_document_unless_that_is_foreign(
    acme: Tenant, umbrella: Tenant, sam: Client, ada: Client
) -> None:
    [unknown] = refused(
        status=401,
        response_text="The key is not valid.",
        reason="No Authorization header.",
        address="192.0.2.0/24",
    )
    [missing] = refused(**of_key(acme), address="192.0.2.7")
    for row, once in (
        (unknown, (unknown.response_text, unknown.reason, unknown.address)),
        (missing, (missing.response_text, missing.address, acme.key.prefix)),
    ):
        page = html(sam.get(f"{staff.REFUSED}?status__exact={row.status}&open={row.pk}"))
        assert {text: page.count(text) for text in once} == dict.fromkeys(once, 1)
    own = factories.document(acme.workspace, title="Lease <b>")
    deleted = factories.document(acme.workspace, title="Old lease", deleted_at=timezone.now())
    foreign = factories.document(umbrella.workspace, title="Merger")
    for document, shown_as in (
        (own, f'<a href="{page_of(own)}">Lease &lt;b&gt;</a>'),
        (deleted, f'<a href="{page_of(deleted)}">Old lease</a> (deleted)'),
        (foreign, f'<a href="{page_of(foreign)}">Merger</a>, of Umbrella'),
    ):
        path = f"/api/v1{path_of(document)}/download"
        [row] = refused(**of_key(acme, path=f"{path}?type=signed"))
        for client in (sam, ada):
            page = html(client.get(page_of(row)))
            assert (shown_as in page) == (client == sam or document != foreign)
            assert client == sam or "Merger" not in page
            assert f"GET {path}?type=signed" in text_of(page)


OF_KEY, OF_WORKSPACE = ({f"refused_{of}", f"refused_{of}_status"} for of in ("key", "workspace"))
# The indexes that a page may be read from.
READ_FROM = {
    staff.REFUSED: {"refused_newest"},
    f"{staff.REFUSED}?status__exact=429": {"refused_status"},
    f"{staff.REFUSED}?key_id__exact={uid(20, 2)}&status__exact=404": {
        *OF_KEY,
        "refused_key_prefix",
        "audit_key",
    },
    f"{staff.REFUSED}?workspace_id__exact={uid(20, 1)}": OF_WORKSPACE,
    f"{staff.REFUSED}?address__exact=203.0.113.20": {"refused_address"},
    f"{staff.REFUSED}?key_prefix__exact=dtd_00000020": {"refused_key_prefix"},
    f"{staff.REFUSED}?request_id__exact={28:08x}{'f' * 24}": {"refused_request"},
    staff.START: {
        "refused_newest",
        "refused_status",
        "refused_key",
        "refused_key_status",
        "refused_workspace_status",
        "apikeys_apikey_pkey",
        "apikey_newest",  # there is one key
        "workspaces_workspace_pkey",
    },
}


@pytest.mark.usefixtures("as_owner")  # ANALYZE
def test_every_filter_reads_its_index(acme: Tenant, sam: Client) -> None:
    refused(
        2500,
        status=lambda n: 429 if n % 50 == 0 else 404,
        key_id=lambda n: None if n % 3 else uid(n % 100, 2),
        workspace_id=lambda n: uid(n % 50, 1),
        path=lambda n: f"/api/v1/documents/{uid(n % 300, 3)}",
        address=lambda n: f"203.0.113.{n % 100}",
        key_prefix=lambda n: f"dtd_{n % 100:08}",
    )
    analyze("usage_refusedrequest")
    for url, indexes in READ_FROM.items():
        queries = [sql for sql in asked(sam, url) if 'FROM "usage_refusedrequest"' in sql]
        assert queries
        read = set().union(*map(indexes_of, queries))
        read -= {"usage_refusedrequest_pkey", "refused_status"}  # of what fails at present
        assert read <= indexes, url
        assert "COUNT(" not in str(queries)


# --- The start page ---


def start(user: User) -> str:
    return html(signed_in(user).get(staff.START))


def test_start_page_of_an_admin_has_a_chart_of_own_workspaces(
    acme: Tenant, umbrella: Tenant
) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=1190, errors=8, limited=6, downloads=36, busiest=301)
    used(acme.key.pk, acme.workspace.pk, 1, busiest=20)
    used(umbrella.key.pk, umbrella.workspace.pk, ok=7777)
    refused(**of_key(acme, status=429, requests=6))
    for name in ("One", "Two", "Three", "Not used yet"):  # newer, and used later
        new, _ = factories.issue(acme.workspace, name, acme.admin)
    ended, _ = factories.issue(acme.workspace, "Never used", acme.admin)
    ended.revoke(by=acme.admin)
    text = text_of(start(acme.admin))
    assert text.startswith("Acme | Document API")
    figures = (
        "requests 1,204 downloads 36 refused or failed 14 busiest minute of a key 300 of 300"
        " over the limit 6 last request just now"
    )
    assert f"Acme, last 30 days (UTC) {figures}" in text
    assert f"6 × 429 {acme.key.prefix}… Acme sync was over the limit of its requests" in text
    assert "in a minute, the last time just now : let that program wait as Retry-After" in text
    listed = text.partition("Keys, last 30 days")[2].partition("All keys")[0]
    assert f"{new} 0 never" in listed
    assert listed.index(str(acme.key)) < listed.index("One")  # the most used first
    assert str(ended) not in listed
    assert "Umbrella" not in text
    assert "7,777" not in text


def test_figures_lead_to_as_many_requests_as_they_say(acme: Tenant, desk: Client) -> None:
    used(acme.key.pk, acme.workspace.pk, errors=12, limited=6)
    refused(**of_key(acme, status=429, requests=6))
    refused(**of_key(acme, requests=7, others=4))
    refused(**of_key(acme, status=503, requests=2))
    refused(**of_key(acme, requests=3), created_at=timezone.now() - timedelta(days=2))
    refused(2, status=401, requests=4, address=lambda number: f"192.0.2.{number}")
    figure = re.compile(f'<a href="({staff.REFUSED}[^"]+)">(?:<span[^>]*>)?([0-9]+)')
    pages = [staff.START, staff.WORKSPACES, page_of(acme.workspace), page_of(acme.key)]
    for client, urls, count in ((desk, pages[:3], 13), (signed_in(acme.admin), pages[::3], 6)):
        found = [each for url in urls for each in figure.findall(html(client.get(url)))]
        assert len(found) == count, found
        for url, number in found:
            rows = shown(client, "", unescape(url)).result_list
            assert sum(row.requests for row in rows) == int(number), url


def test_ended_key_that_is_still_used_is_named_and_its_requests_are_refused_ones_everywhere(
    acme: Tenant, sam: Client, flusher: ModuleType
) -> None:
    new, _ = acme.key.roll(by=acme.admin, ends_in=None)
    acme.key.revoke(by=acme.admin)
    for _ in range(3):
        acme.get("/me")
    get("/api/v1/me", f"Bearer {acme.key.prefix}{'Z' * 32}")  # whose rest is a guess
    flusher.flush()
    page = start(acme.admin)
    [line] = re.findall(r'(?s)<li class="bad">(.*?)</li>', page)
    still = f"{acme.key} has ended and is still used , the last time just now ."
    named = f"3 × 401 {still} Its requests get 401"
    assert text_of(line) == f"{named}: give that program {new}, to which it was rolled."
    assert page_of(acme.key) in line
    new.revoke(by=acme.admin)
    figures = "last 30 days (UTC) requests 3 downloads 0 refused or failed 3"
    assert f"Acme, {figures}" in text_of(page)
    key = text_of(html(signed_in(acme.admin).get(page_of(acme.key))))
    assert "Last request 127.0.0.1 just now" in key  # where it is still used
    text = text_of(start(staff.operator()))
    assert f"Acme {named}: give that program another key." in text
    assert "last 24 hours requests 4 refused or failed 4 over the limit 0" in text
    assert f"Requests with any key, {figures}" in text
    refused(**of_key(acme, status=429, requests=9))  # of more requests, but less urgent
    page = html(signed_in(acme.admin).get(staff.KEYS))
    assert "3 requests, 3 refused or failed just now" in text_of(page)
    assert re.findall(r'<li class="(\w+)">', page) == ["bad", "warn"]
    RefusedRequest.objects.update(last_at=timezone.now() - timedelta(minutes=6))
    page = html(signed_in(acme.admin).get(staff.KEYS))
    assert "has ended and was used , the last time 6 minutes ago" in text_of(page)
    assert re.findall(r'<li class="(\w+)">', page) == ["warn", "quiet"]
    assert "was used</b>, the last" in html(sam.get(f"{staff.HISTORY}?key_id__exact={acme.key.pk}"))
    acme.key.delete_by(by=acme.admin)
    for client, url in ((sam, staff.START), (signed_in(acme.admin), page_of(acme.workspace))):
        assert "has ended" not in html(client.get(url))


@pytest.mark.usefixtures("housekeeping")
def test_start_page_of_support_names_workspaces_that_need_a_look_and_then_all_is_not_well(
    acme: Tenant, umbrella: Tenant, freebie: Tenant
) -> None:
    delivery(endpoint(acme), {"error": "The connection was refused."})
    Endpoint.objects.update(label="CRM", failing_since=timezone.now())
    assert "All is well." in text_of(start(umbrella.admin))
    refused(**of_key(freebie, status=429, requests=120))
    refused(**of_key(umbrella, requests=150), created_at=timezone.now() - timedelta(hours=2))
    sam = staff.support()
    staff.member(umbrella.workspace, sam.username, "ADMIN")
    text = text_of(start(sam))
    assert re.search("2 workspaces need a look: Acme , Freebie 150 × 404 .* The rest is well", text)
    assert "CRM began to fail just now : the connection was refused." in text
    assert "Umbrella 150 × 404" in text  # hours ago
    page = html(signed_in(sam).get(page_of(acme.workspace)))
    assert re.search(r'<li class="bad">.*Failing.* <a href="/admin/webhooks/', page)
    assert "began to fail" not in html(signed_in(sam).get(page_of(freebie.workspace)))


def test_admin_reads_which_other_own_workspace_needs_a_look(
    acme: Tenant, umbrella: Tenant, frozen: Tenant
) -> None:
    staff.member(umbrella.workspace, acme.admin.username, "ADMIN")
    refused(**of_key(umbrella, status=429, requests=120))
    refused(**of_key(frozen, status=403, requests=7))
    ApiKey.objects.update(expires_at=timezone.now() + timedelta(days=1))
    page = start(acme.admin)
    assert "1 workspace needs a look: Umbrella" in text_of(page)
    assert f"{umbrella.key} expires soon" in text_of(page).partition("Other workspaces of yours")[2]
    assert f"120 × 429 {umbrella.key} was over the limit" in text_of(page)
    assert "for its admins" not in page
    assert page_of(umbrella.key) in page
    assert "Frozen" not in page
    assert "need a look" not in text_of(start(umbrella.admin))
    ada = signed_in(acme.admin)
    for tenant in (acme, umbrella):
        page = html(ada.get(page_of(tenant.workspace)))
        assert page.count(" soon</b>") == 1
    assert "over the limit" in page
    listed = html(ada.get(staff.WORKSPACES))
    assert re.findall('aria-label="Switch to (.+?)"', listed) == ["Acme"]  # the other is opened
    acme.workspace.suspended = True
    acme.workspace.save()
    assert "Acme is suspended" in text_of(html(ada.get(staff.START)))


def test_start_page_of_support_has_the_refused_requests_of_24_hours(acme: Tenant) -> None:
    now = timezone.now()
    refused(**of_key(acme, requests=300, others=4), created_at=now - timedelta(hours=3))
    refused(**of_key(acme, status=429, requests=35), created_at=now - timedelta(hours=2))
    refused(status=503, requests=2, created_at=now - timedelta(hours=2))
    refused(status=401, reason="No Authorization header.")
    then, hours = now - timedelta(hours=3), no_hours()
    hours[then.hour] = 90
    days_ago = (now.date() - then.date()).days
    used(acme.key.pk, acme.workspace.pk, days_ago, ok=90, hours=hours)
    page = start(staff.support())
    title = "<h2>Requests with and without a key, last 24 hours by hour, 5xx in red</h2>"
    panel = page.split(title)[1].partition("</section>")[0]
    figures = "requests 428 refused or failed 338 over the limit 35 500, errors of ours 0 503"
    assert text_of(panel).startswith(figures)
    bars = re.findall(r"<title>(.+?)</title>", panel)
    assert (len(bars), bars[0]) == (25, "24 h ago: none")
    assert {bar.partition(": ")[2] for bar in bars} == {
        "none",
        "90 successful, 300 refused",
        "35 refused, 2 failed with 5xx",
        "1 refused",
    }
    assert text_of(panel).count("2 hours ago") == 2  # of 429 and of 503: first and last are one
    faults_first = ["2 × 503", "300 × 404", "35 × 429", "401"]
    assert re.findall(r'<span class="state quiet">(.+?)</span>', panel) == faults_first


def test_start_page_of_an_operator_has_an_outage_as_one_thing(
    acme: Tenant, umbrella: Tenant, desk: Client
) -> None:
    for tenant in (acme, umbrella):
        for minutes in (0, 10):
            at = timezone.now() - timedelta(minutes=minutes)
            fields = {"status": 503, "requests": 5, "reason": "object storage was out of reach"}
            refused(**of_key(tenant, **fields), created_at=at)
    page = html(desk.get(staff.START)).split("without a key, last 24 hours")[1]
    text = text_of(page)
    assert text.count("10 minutes ago") == 1
    assert '<span class="state bad">20 × 503' in page  # it is not over
    reason = "Object storage was out of reach"
    assert f"20 × 503 {reason} Acme, Umbrella just now , first 10 minutes ago" in text


def test_list_of_workspaces_has_their_requests_of_30_days_in_one_query(
    acme: Tenant, umbrella: Tenant, desk: Client
) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=1190, errors=8, limited=6)
    used(uid(1, 2), acme.workspace.pk, 29, ok=1)  # another key
    used(acme.key.pk, acme.workspace.pk, 30, ok=5000)
    text = text_of(html(desk.get(staff.WORKSPACES)))
    assert re.search(r"Acme · \w+ Pro .* Suspend… .*1,205 14 .*Umbrella · .* Suspend… 0 0 ", text)
    queries = asked(desk, staff.WORKSPACES)
    assert len([sql for sql in queries if 'FROM "usage_keyusage"' in sql]) == 1


def test_start_pages_say_what_has_just_failed(acme: Tenant, umbrella: Tenant, desk: Client) -> None:
    """Until the checks have looked again."""
    sam, not_theirs = staff.support(), "The fault is the service’s: you need not do anything."
    for minutes, when in ((3, ""), (0, "just now")):
        fields = {"status": 503, "reason": "object storage was out of reach"}
        refused(**of_key(acme, **fields), created_at=timezone.now() - timedelta(minutes=minutes))
        for user, of, text in ((acme.admin, "", not_theirs), (sam, " of Acme", "The reason then")):
            page = text_of(start(user))
            said = f"Requests{of} failed {when} with status 503 . {text}"
            assert (said in page, "documents&#x27; files" in page) == (bool(when), not when)
    assert "Requests failed" not in text_of(start(umbrella.admin))
    refused(**of_key(acme, status=500))
    for page in (start(sam), html(desk.get(reverse("admin:system")))):
        assert text_of(page).count("Requests of Acme failed") == 2
    refused(
        status=503, reason="the database: timeout", created_at=timezone.now() - timedelta(minutes=2)
    )
    assert "failed 2 minutes ago with status 503 . It works again" in text_of(start(sam))
    refused(status=503, reason="object storage: object a.pdf: HTTP 404")
    assert "failed just now with status 503 . The reason then" in text_of(start(sam))


def test_part_of_the_start_page_fails_alone(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=5)

    def late(*_: Any) -> list[Any]:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr("audit.admin.AuditEntryAdmin.panels", late)
    text = text_of(start(acme.admin))
    assert "Log could not be shown." in text
    assert "All is well" not in text
    assert "Acme, last 30 days (UTC) requests 5" in text
    monkeypatch.setattr("apikeys.usage.report.needs_a_look", late)
    text = text_of(start(staff.support()))
    assert "Workspaces that need a look could not be shown." in text
    assert "no webhook fails" not in text
    assert "All is well" not in text
