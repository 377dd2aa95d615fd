"""Webhooks in the admin: their life, their list, and what was delivered to them."""

import json
import re
from datetime import timedelta
from html import unescape
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from audit.models import Action
from events.webhooks import secrets, services
from events.webhooks.admin.endpoints import MOST_COUNTED
from events.webhooks.models import TEST_EVENT, Delivery, Endpoint
from events.webhooks.policy import MOST_ENDPOINTS
from tests.support import factories, staff, webhooks
from tests.support.cast import entries, form_of, indexes_of, page_of, raw_of, text_of
from tests.support.database import whole_database
from tests.support.factories import Tenant
from tests.support.staff import DELIVERIES, HOOKS, START, body
from tests.support.webhooks import PUBLIC_URL, URL

NEW = reverse("admin:webhooks_endpoint_add")


@pytest.fixture
def hook(acme: Tenant) -> Endpoint:
    return webhooks.endpoint(acme)


def create(client: Client, **fields: Any) -> Any:
    form = form_of(body(client.get(NEW)))
    return client.post(NEW, {**form, "url": URL, "types": ["document.completed"], **fields})


# --- Creating


def test_webhook_creation_shows_the_secret_once_and_stores_it_encrypted(
    acme: Tenant, ada: Client
) -> None:
    chosen = re.findall(r'value="(document\.\w+)"[^>]*checked', body(ada.get(NEW)))
    assert chosen == ["document.completed"]
    types = ["document.completed", "document.deleted"]
    response = create(ada, types=types, label="  CRM,  production ")
    raw = raw_of(response)
    endpoint = Endpoint.objects.get()
    assert (endpoint.workspace, endpoint.url) == (acme.workspace, URL)
    assert (endpoint.types, endpoint.label) == (types, "CRM, production")
    assert endpoint.enabled
    assert secrets.decrypt(endpoint.secret) == raw
    assert "no-store" in response.headers["Cache-Control"]
    for url in (page_of(endpoint), HOOKS, START):
        assert raw not in body(ada.get(url))
    assert raw.removeprefix("whsec_") not in str(whole_database())
    entry = entries(Action.WEBHOOK_CREATED)[-1]
    named = f"CRM, production {PUBLIC_URL} ({endpoint.pk})"
    assert entry.detail == f"{named}: document.completed, document.deleted"
    assert (entry.workspace_id, entry.person) == (acme.workspace.pk, acme.admin.username)
    form = {**response.wsgi_request.POST.dict(), "types": endpoint.types}
    again = body(ada.post(NEW, form, follow=True))
    assert "Nothing was created" in again
    assert raw not in again
    assert Endpoint.objects.count() == 1


def test_webhook_form_refuses_other_addresses_and_events(ada: Client) -> None:
    too_long = URL + "a" * 500  # which the field does not cut
    urls = ("", "hooks.example.com", "javascript:alert(1)", f"{URL}\x00", f"{URL}\u202e", too_long)
    refused: list[dict[str, Any]] = [{"url": url} for url in urls]
    refused += [{"types": types} for types in ([], ["webhook.test"], ["document.sent", "x\x00"])]
    for fields in refused:
        assert "Nothing was saved" in body(create(ada, **fields)), fields
    with_key = create(ada, url=f"https://example.com/?secret=dtd_{'a' * 40}")
    assert "This must not contain an API key" in body(with_key)
    assert not Endpoint.objects.exists()


def test_workspace_may_have_twenty_webhooks(acme: Tenant, ada: Client) -> None:
    for number in range(MOST_ENDPOINTS):
        webhooks.endpoint(acme, f"https://hooks.example.com/{number}")
    assert "may have 20 webhooks" in body(create(ada))
    services.delete(Endpoint.objects.latest("created_at"), by=acme.admin)
    raw_of(create(ada))


# --- Changing


def test_webhook_change_of_name_address_and_events(hook: Endpoint, ada: Client) -> None:
    Endpoint.objects.update(failing_since=timezone.now(), label="CRM, production")
    for url in (HOOKS, page_of(hook), page_of(hook, "edit")):
        assert "CRM, production" in body(ada.get(url))
    new = {"url": "https://new.example/?key=1", "types": ["document.sent"], "label": ""}
    for label in ("n" * 101, "dtd_" + "a" * 40, "a\x07b", "a\0b"):
        assert "Nothing was saved" in body(ada.post(page_of(hook, "edit"), {**new, "label": label}))
    response = ada.post(page_of(hook, "edit"), new, follow=True)
    assert "The changes are saved." in body(response)
    hook.refresh_from_db()
    assert (hook.url, hook.types) == (new["url"], new["types"])
    assert hook.failing_since is None
    assert entries(Action.WEBHOOK_CHANGED)[-1].detail == (
        f"https://new.example/… ({hook.pk}): URL was {PUBLIC_URL}; "
        "name changed from CRM, production to none; "
        "events changed from document.completed to document.sent"
    )
    ada.post(page_of(hook, "edit"), new)
    assert len(entries(Action.WEBHOOK_CHANGED)) == 1


def test_webhook_switched_off_retries_nothing_until_it_is_switched_on(
    hook: Endpoint, acme: Tenant, ada: Client
) -> None:
    webhooks.delivery(hook, {"status": 503})
    ada.post(page_of(hook, "switch_off"))
    hook.refresh_from_db()
    assert (hook.enabled, hook.disabled_reason) == (False, "")
    assert hook.disabled_at is not None
    assert entries(Action.WEBHOOK_SWITCHED_OFF)[-1].detail == f"{PUBLIC_URL} ({hook.pk})"
    text = strip_tags(body(ada.get(page_of(hook))))
    assert "It was switched off just now. Events since then were not sent" in text
    assert "Waiting" in text
    assert not re.search("Retrying|undelivered", text)
    Endpoint.objects.update(failing_since=timezone.now())
    ada.post(page_of(hook, "switch_on"))
    hook = Endpoint.objects.get()
    assert (hook.enabled, hook.disabled_at, hook.failing_since) == (True, None, None)
    assert entries(Action.WEBHOOK_SWITCHED_ON)[-1].person == acme.admin.username


def test_webhook_switched_off_by_the_service_is_told_on_the_start_page(
    hook: Endpoint, ada: Client, sam: Client, umbrella: Tenant
) -> None:
    services.switch_off(hook, reason="it responded with 410 Gone")
    services.switch_off(hook, reason="again")
    html = body(ada.get(START))
    assert PUBLIC_URL in html
    assert "because it responded with 410 Gone" in html
    for other in (staff.signed_in(umbrella.admin), sam):
        assert "410 Gone" not in body(other.get(START))
    [entry] = entries(Action.WEBHOOK_SWITCHED_OFF)
    assert entry.detail == f"{PUBLIC_URL} ({hook.pk}): it responded with 410 Gone"
    assert entry.person


def test_failing_webhook_says_why_and_what_waits_on_the_start_page_and_on_its_own(
    hook: Endpoint, ada: Client
) -> None:
    soon = timezone.now() + timedelta(minutes=2)
    for at in (soon, soon + timedelta(minutes=2)):
        webhooks.delivery(hook, {"error": "The connection was refused."}, next_attempt_at=at)
    Endpoint.objects.update(failing_since=timezone.now())
    assert f'<b>Webhook <a href="{page_of(hook)}">' in body(ada.get(START))
    why = "began to fail just now: the connection was refused. 2 deliveries wait."
    pages = ((START, f"Webhook {hook.name}"), (page_of(hook), "It"))
    for url, subject in pages:
        assert f"{subject} {why} Repair the receiver" in strip_tags(body(ada.get(url)))
    with webhooks.delivering():
        following = f"The next attempt is at {soon:%H:%M:%S}. Repair the receiver"
        for url, subject in pages:
            assert f"{subject} {why} {following}" in strip_tags(body(ada.get(url)))
        webhooks.backlog(MOST_COUNTED)
        more = f"{MOST_COUNTED:,} or more deliveries wait. The next attempt is due now. Repair"
        assert more in strip_tags(body(ada.get(START)))
    Endpoint.objects.update(failing_since=None)  # by a test that succeeded
    for url, subject in pages:
        behind = f"{subject} works now. Of what has failed, 2 deliveries wait."
        assert behind in strip_tags(body(ada.get(url)))


def test_pages_say_if_no_process_delivers(hook: Endpoint, acme: Tenant, ada: Client) -> None:
    delivery = webhooks.delivery(hook)
    pages = (START, HOOKS, DELIVERIES, page_of(hook), page_of(delivery))
    text, live = "The service sends no webhooks at present.", "as soon as it is known"
    for url in pages:
        html = body(ada.get(url))
        assert (text in html, live in html) == (True, False), url
    with webhooks.delivering():
        for url in pages:
            html = body(ada.get(url))
            assert (text in html, live in html) == (False, url in pages[3:]), url
        late = timezone.now() - timedelta(minutes=2)
        Delivery.objects.update(next_attempt_at=late)
        text = "The service sends webhooks too late at present."
        for url in pages:
            html = body(ada.get(url))
            assert (text in html, live in html) == (True, False), url
        assert text in body(staff.signed_in(staff.support()).get(HOOKS))


def test_webhook_secret_is_rolled_once_and_shown_once(hook: Endpoint, ada: Client) -> None:
    """`test_webhooks_sender.py` has how long both secrets sign."""
    old = secrets.decrypt(hook.secret)
    form = form_of(body(ada.get(page_of(hook, "roll"))))
    raw = raw_of(ada.post(page_of(hook, "roll"), form))
    hook.refresh_from_db()
    assert secrets.decrypt(hook.secret) == raw
    assert secrets.decrypt(hook.previous_secret) == old
    assert raw.removeprefix("whsec_") not in str(whole_database())
    assert entries(Action.WEBHOOK_SECRET_ROLLED)[-1].detail == f"{PUBLIC_URL} ({hook.pk})"
    assert "Nothing was rolled" in body(ada.post(page_of(hook, "roll"), form))  # a reload
    assert "the previous secret signs too until" in body(ada.get(page_of(hook)))
    hook.refresh_from_db()
    assert secrets.decrypt(hook.secret) == raw


def test_webhook_deletion_erases_the_secrets_and_keeps_the_deliveries(
    hook: Endpoint, acme: Tenant, ada: Client, sam: Client
) -> None:
    delivery = webhooks.failed(hook)
    webhooks.delivery(hook)
    services.roll_secret(hook, by=acme.admin, seen="None")
    ada.post(page_of(hook, "delete"))
    hook.refresh_from_db()
    assert hook.deleted_at is not None
    assert (hook.secret, hook.previous_secret) == ("", "")
    assert entries(Action.WEBHOOK_DELETED)[-1].detail == f"{PUBLIC_URL} ({hook.pk})"
    for client in (ada, sam):
        html = body(client.get(page_of(hook)))
        assert f"open={delivery.pk}" in html
        assert list(staff.shown(client, "", HOOKS).result_list) == []
    for name in ("edit", "roll", "delete", "test", "again", "switch_on"):
        assert ada.post(page_of(hook, name)).status_code == 403
    assert ada.post(page_of(delivery, "again")).status_code == 403


def test_webhook_test_event_is_added_to_the_queue(hook: Endpoint, ada: Client) -> None:
    html = body(ada.post(page_of(hook, "test"), follow=True))
    [delivery] = Delivery.objects.all()
    assert (delivery.type, delivery.state) == (TEST_EVENT, "PENDING")
    assert f"open={delivery.pk}" in html
    assert str(delivery.document_id) not in html
    assert entries(Action.WEBHOOK_TEST_SENT)[-1].detail == f"{PUBLIC_URL} ({hook.pk})"


def test_webhook_failed_deliveries_are_sent_again(hook: Endpoint, ada: Client) -> None:
    in_an_hour = {"next_attempt_at": timezone.now() + timedelta(hours=1)}
    waiting = webhooks.delivery(hook, {"status": 503}, **in_an_hour)
    webhooks.delivery(hook)  # its first attempt is to come
    three = [webhooks.failed(hook), webhooks.failed(hook), waiting]
    accepted = webhooks.delivered(hook)
    test = webhooks.failed(hook, type=TEST_EVENT)
    assert "Failed" in body(ada.get(HOOKS))  # its last event, a test
    assert "Send all undelivered again" in body(ada.get(page_of(hook)))
    html = body(ada.post(page_of(hook, "again"), follow=True))
    assert "3 deliveries are sent again as soon as possible." in html
    assert "undelivered" not in html
    due = Delivery.objects.filter(state="PENDING", next_attempt_at__lte=timezone.now())
    assert due.filter(pk__in=[each.pk for each in three], failures=0).count() == 3
    assert entries(Action.WEBHOOK_SENT_AGAIN)[-1].detail.endswith(": 3 deliveries")
    html = body(ada.post(page_of(hook, "again"), follow=True))
    assert "0 deliveries are sent again as soon as possible." in html
    states = Delivery.objects.in_bulk([accepted.pk, test.pk])
    assert [states[each.pk].state for each in (accepted, test)] == ["DELIVERED", "FAILED"]
    assert "data-live" not in body(ada.get(page_of(accepted)))
    url = f"{page_of(accepted, 'again')}?open={accepted.pk}"
    assert "data-live" in body(ada.post(url, follow=True))
    accepted.refresh_from_db()
    assert accepted.state == "PENDING"
    Delivery.objects.filter(pk=waiting.pk).update(claimed_until=in_an_hour["next_attempt_at"])
    before = list(Delivery.objects.order_by("pk").values())
    for each in (accepted, waiting):  # the second one is being sent
        html = body(ada.post(page_of(each, "again"), follow=True))
        assert "Nothing was changed: it is due already." in html
    assert list(Delivery.objects.order_by("pk").values()) == before
    one = f": 1 delivery: {accepted.public_event_id}"
    assert entries(Action.WEBHOOK_SENT_AGAIN)[-1].detail.endswith(one)


# --- The lists and the pages


@pytest.mark.usefixtures("as_owner")  # ANALYZE
def test_deliveries_of_a_workspace_are_one_range_of_an_index(
    acme: Tenant, umbrella: Tenant, ada: Client, sam: Client
) -> None:
    for tenant in (acme, *[umbrella] * 9):
        webhooks.endpoint(tenant)
    webhooks.backlog(300)
    staff.analyze("webhooks_delivery")
    for client, index in ((ada, "delivery_workspace"), (sam, "delivery_all")):
        asked = staff.asked(client, DELIVERIES)
        [sql] = [each for each in asked if 'FROM "webhooks_delivery"' in each]
        assert {name for name in indexes_of(sql) if name.startswith("delivery")} == {index}


def test_webhook_is_found_by_its_host_and_its_page_has_its_whole_url_and_buttons(
    hook: Endpoint, umbrella: Tenant, ada: Client, sam: Client
) -> None:
    """`test_admin_isolation.py` has what support staff and operators must not see."""
    short = str(hook.pk)[:8]
    none = text_of(body(sam.get(f"{HOOKS}?workspace_id__exact={umbrella.workspace.pk}")))
    assert "Workspace: Umbrella ✕ Clear all None." in none
    for client in (ada, sam):
        for text, found in ((short, [hook]), ("hooks.example", [hook]), ("letmein", [])):
            assert list(staff.shown(client, f"?q={text}", HOOKS).result_list) == found, text
        assert client.post(staff.SEARCH, {"q": short})["Location"] == page_of(hook)
    assert ada.post(staff.SEARCH, {"q": "hooks"})["Location"] == page_of(hook)
    assert "token=letmein" in body(ada.get(page_of(hook)))


def test_deliveries_are_listed_by_workspace_webhook_event_and_state(
    acme: Tenant, umbrella: Tenant, ada: Client, sam: Client
) -> None:
    hooks = [webhooks.endpoint(acme), webhooks.endpoint(acme), webhooks.endpoint(umbrella)]
    ours, failed = webhooks.delivered(hooks[0]), webhooks.failed(hooks[1])
    theirs = webhooks.delivered(hooks[2])
    assert set(staff.shown(sam, "", DELIVERIES).result_list) == {ours, failed, theirs}
    assert set(staff.shown(ada, "", DELIVERIES).result_list) == {ours, failed}
    for query in (
        f"endpoint_id__exact={hooks[1].pk}",
        f"event_id__exact={failed.event_id}",
        "state__exact=FAILED",
        f"state__exact=FAILED&workspace_id__exact={acme.workspace.pk}",
    ):
        for client in (ada, sam):
            assert staff.shown(client, f"?{query}", DELIVERIES).result_list == [failed], query
    assert staff.shown(ada, f"?endpoint_id__exact={hooks[2].pk}", DELIVERIES).result_list == []


def test_two_webhooks_of_a_host_have_two_names_wherever_they_are_named(
    acme: Tenant, ada: Client
) -> None:
    hooks = [webhooks.endpoint(acme, f"https://hooks.example.com/{n}") for n in (1, 2)]
    Endpoint.objects.update(failing_since=timezone.now())
    names = {f"{PUBLIC_URL} {str(hook.pk)[:8]}" for hook in hooks}
    assert {hook.name for hook in hooks} == names
    deliveries = [webhooks.delivered(hook) for hook in hooks]
    for url in (HOOKS, START, DELIVERIES, staff.HISTORY):
        assert all(name in body(ada.get(url)) for name in names), url
    for hook, delivery in zip(hooks, deliveries, strict=True):
        assert f"<h1>{hook.name}</h1>" in body(ada.get(page_of(hook)))
        html = body(ada.get(f"{DELIVERIES}?endpoint_id__exact={hook.pk}&open={delivery.pk}"))
        assert f"Webhook: {hook.name}" in html
        assert '<th scope="col">Webhook</th>' in html


def test_delivery_names_its_document_with_a_link(
    hook: Endpoint, acme: Tenant, umbrella: Tenant, ada: Client, sam: Client
) -> None:
    document = factories.document(acme.workspace, title="Mutual NDA")
    webhooks.delivered(hook, document_id=document.pk)
    link = f'<a href="{page_of(document)}">Mutual NDA</a>'
    for client in (ada, sam):
        for url in (page_of(hook), DELIVERIES):
            assert link in body(client.get(url)), url
    type(document).objects.update(workspace=umbrella.workspace)
    html = body(ada.get(DELIVERIES))
    assert "Mutual NDA" not in html
    assert str(document.pk) not in html


def test_webhook_has_a_bar_for_each_day(
    hook: Endpoint, acme: Tenant, ada: Client, sam: Client
) -> None:
    today = timezone.now()
    silent = webhooks.endpoint(acme, "https://silent.example/")
    for days, make in [(0, webhooks.failed), (1, webhooks.delivered), (1, webhooks.delivered)]:
        make(hook, created_at=today - timedelta(days=days))
    bars = [f"{today - timedelta(days=1):%-d %b}: 2 delivered", f"{today:%-d %b}: 1 not delivered"]
    for client in (ada, sam):
        assert re.findall(r"<title>(.*: [1-9].*)</title>", body(client.get(page_of(hook)))) == bars
        assert "<svg" not in body(client.get(page_of(silent)))


def test_delivery_of_a_webhook_is_opened_among_those_of_the_webhook(
    hook: Endpoint, acme: Tenant, ada: Client
) -> None:
    opened = webhooks.failed(hook)
    webhooks.delivery(webhooks.endpoint(acme))
    links = re.findall(rf'href="([^"]+open={opened.pk})#open"', body(ada.get(page_of(hook))))
    assert staff.shown(ada, "", unescape(links[0])).result_list == [opened]
    [again] = re.findall(r'"([^"]+/again/[^"]+)"', body(ada.get(unescape(links[0]))))
    page = ada.post(unescape(again), follow=True)
    assert [page.context["cl"].result_list, page.context["cl"].opened] == [[opened], opened]


def test_webhook_of_a_workspace_without_access_is_created_after_a_warning(
    frozen: Tenant, acme: Tenant
) -> None:
    for tenant, warned in ((frozen, True), (acme, False)):
        for url in (NEW, HOOKS):
            page = text_of(body(staff.signed_in(tenant.admin).get(url)))
            assert ("is suspended: nothing is sent to webhooks until" in page) is warned


def test_delivery_page_shows_the_body_and_every_attempt(hook: Endpoint, ada: Client) -> None:
    delivery = webhooks.delivery(
        hook,
        {"status": 500, "response": "<script>alert(1)</script>", "milliseconds": 1234},
        {"error": "The connection was refused.", "milliseconds": 12},
        next_attempt_at=timezone.now() + timedelta(minutes=5),
    )
    html = body(ada.get(page_of(delivery)))
    again = r"due again at [\d:]{8}"
    assert re.search(f"the connection was refused, 2 attempts, {again}", strip_tags(html))
    assert re.search("(?s)Attempt 2.*Due again at <time", html)  # also among the attempts
    assert "Pending, retrying" in html
    [sent] = re.findall(r"<pre[^>]*><code>([^<]*)", html)
    assert "{\n  &quot;id&quot;" in sent
    event = json.loads(sent.replace("&quot;", '"'))
    assert event["id"] == delivery.public_event_id
    assert event["data"] == {"id": str(delivery.document_id), "status": "COMPLETED"}
    for text in ("The connection was refused.", "&lt;script&gt;alert(1)&lt;/script&gt;", "1,234"):
        assert text in html
