"""Webhooks in the admin: their life, their list, and what was delivered to them."""

import json
import re
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags
from psycopg import sql

from audit.models import Action, AuditEntry
from config.console.formatting import exact
from events.webhooks import secrets, services
from events.webhooks.models import TEST_EVENT, Delivery, Endpoint
from events.webhooks.policy import MOST_ENDPOINTS
from tests.support import factories, staff, webhooks
from tests.support.cast import form_of, page_of
from tests.support.database import privileges
from tests.support.factories import Tenant
from tests.support.staff import body
from tests.support.webhooks import PUBLIC_URL, URL

LIST = reverse("admin:webhooks_endpoint_changelist")
NEW = reverse("admin:webhooks_endpoint_add")
DELIVERIES = reverse("admin:webhooks_delivery_changelist")
START = reverse("admin:index")


@pytest.fixture
def hook(acme: Tenant) -> Endpoint:
    return webhooks.endpoint(acme)


def create(client: Client, **fields: Any) -> Any:
    form = form_of(body(client.get(NEW)))
    return client.post(NEW, {**form, "url": URL, "types": ["document.completed"], **fields})


def raw_of(response: Any) -> str:
    [raw] = re.findall(r'id="raw-secret">(whsec_[A-Za-z0-9+/=]+)<', body(response))
    return str(raw)


def newest(action: Action) -> AuditEntry:
    return AuditEntry.objects.filter(action=action).latest("id")


# --- Creating


def test_webhook_creation_shows_the_secret_once_and_stores_it_encrypted(
    acme: Tenant, ada: Client
) -> None:
    chosen = re.findall(r'value="(document\.\w+)"[^>]*checked', body(ada.get(NEW)))
    assert chosen == ["document.completed"]
    response = create(ada, types=["document.deleted", "document.completed"])
    raw = raw_of(response)
    endpoint = Endpoint.objects.get()
    assert (endpoint.workspace, endpoint.url) == (acme.workspace, URL)
    assert endpoint.types == ["document.completed", "document.deleted"]
    assert endpoint.enabled
    assert secrets.decrypt(endpoint.secret) == raw
    assert "no-store" in response.headers["Cache-Control"]
    for url in (page_of(endpoint), LIST, START):
        assert raw not in body(ada.get(url))
    assert_nowhere(raw)
    entry = newest(Action.WEBHOOK_CREATED)
    assert entry.detail == f"{PUBLIC_URL} ({endpoint.pk}): document.completed, document.deleted"
    assert (entry.workspace_id, entry.person) == (acme.workspace.pk, acme.admin.username)
    form = {"new_id": response.wsgi_request.POST["new_id"], "url": URL, "types": endpoint.types}
    again = body(ada.post(NEW, form, follow=True))
    assert "Nothing was created" in again
    assert raw not in again
    assert Endpoint.objects.count() == 1


def assert_nowhere(raw: str) -> None:
    """No table has the secret: not the sessions, not the audit log."""
    with connection.cursor() as cursor:
        for table in privileges("documents"):
            found = sql.SQL("SELECT count(*) FROM {} t WHERE position(%s in t::text) > 0")
            cursor.execute(found.format(sql.Identifier(table)), [raw.removeprefix("whsec_")])
            assert cursor.fetchone() == (0,), table


def test_webhook_form_refuses_other_addresses_and_events(ada: Client) -> None:
    assert not re.search(r'<[^>]*name="url"[^>]*maxlength', body(ada.get(NEW)))
    too_long = URL + "a" * 500  # which the field does not cut
    urls = ("", "hooks.example.com", "javascript:alert(1)", f"{URL}\x00", f"{URL}\u202e", too_long)
    refused: list[dict[str, Any]] = [{"url": url} for url in urls]
    refused += [
        {"types": ["webhook.test"]},
        {"types": ["document.completed", "x\x00"]},
        {"types": []},
    ]
    for fields in refused:
        assert "Nothing was saved" in body(create(ada, **fields)), fields
    with_key = create(ada, url=f"https://example.com/?secret=dtd_{'a' * 40}")
    assert "The URL must not contain an API key" in body(with_key)
    assert not Endpoint.objects.exists()


def test_workspace_may_have_twenty_webhooks(acme: Tenant, ada: Client) -> None:
    for number in range(MOST_ENDPOINTS):
        webhooks.endpoint(acme, f"https://hooks.example.com/{number}")
    assert "may have 20 webhooks" in body(create(ada))
    services.delete(Endpoint.objects.latest("created_at"), by=acme.admin)
    raw_of(create(ada))


# --- Changing


def test_webhook_change_of_address_and_events(hook: Endpoint, ada: Client) -> None:
    Endpoint.objects.update(failing_since=timezone.now())
    new: dict[str, Any] = {"url": "https://new.example/?key=1", "types": ["document.sent"]}
    response = ada.post(page_of(hook, "edit"), new, follow=True)
    assert "The changes are saved." in body(response)
    hook.refresh_from_db()
    assert (hook.url, hook.types) == (new["url"], new["types"])
    assert hook.failing_since is None
    assert newest(Action.WEBHOOK_CHANGED).detail == (
        f"https://new.example/… ({hook.pk}): URL was {PUBLIC_URL}; "
        "document.completed → document.sent"
    )
    ada.post(page_of(hook, "edit"), new)
    assert AuditEntry.objects.filter(action=Action.WEBHOOK_CHANGED).count() == 1


def test_webhook_has_a_name_whose_changes_are_recorded(ada: Client) -> None:
    create(ada, label="  CRM,  production ")
    hook = Endpoint.objects.get()
    assert hook.label == "CRM, production"
    for url in (LIST, page_of(hook), page_of(hook, "edit")):
        assert "CRM, production" in body(ada.get(url))
    new = {"url": URL, "types": hook.types, "label": ""}
    for label in ("n" * 101, "dtd_" + "a" * 40, "a\x07b", "a\0b"):
        assert "Nothing was saved" in body(ada.post(page_of(hook, "edit"), {**new, "label": label}))
    ada.post(page_of(hook, "edit"), new)
    assert newest(Action.WEBHOOK_CHANGED).detail == (
        f"{PUBLIC_URL} ({hook.pk}): name: CRM, production → none"
    )
    assert f"<h1>{PUBLIC_URL}</h1>" in body(ada.get(page_of(hook)))  # without a name


def test_webhook_switched_off_and_on(hook: Endpoint, acme: Tenant, ada: Client) -> None:
    assert "are not sent to" in body(ada.get(page_of(hook, "switch_off")))
    hook.refresh_from_db()
    assert hook.enabled
    html = body(ada.post(page_of(hook, "switch_off"), follow=True))
    hook.refresh_from_db()
    assert (hook.enabled, hook.disabled_reason) == (False, "")
    assert hook.disabled_at is not None
    assert f"Events since {exact(hook.disabled_at)} were not sent to it" in strip_tags(html)
    assert ada.get(page_of(hook, "switch_off")).status_code == 302  # it is off
    assert newest(Action.WEBHOOK_SWITCHED_OFF).detail == f"{PUBLIC_URL} ({hook.pk})"
    assert "Webhook <a" not in body(ada.get(START))  # the admin did it
    Endpoint.objects.update(failing_since=timezone.now())
    html = strip_tags(body(ada.post(page_of(hook, "switch_on"), follow=True)))
    assert "It is on: events from now on are sent to it." in html
    missed = f"Events since {exact(hook.disabled_at)} were not sent to it: read them with GET /api"
    assert missed in html
    assert "were not sent" not in body(ada.post(page_of(hook, "switch_on"), follow=True))
    hook = Endpoint.objects.get()
    assert (hook.enabled, hook.disabled_at, hook.failing_since) == (True, None, None)
    assert newest(Action.WEBHOOK_SWITCHED_ON).person == acme.admin.username


def test_webhook_switched_off_by_the_service_is_told_on_the_start_page(
    hook: Endpoint, ada: Client, sam: Client, umbrella: Tenant
) -> None:
    services.switch_off(hook, reason="it responded with 410 Gone")
    services.switch_off(hook, reason="again")
    hook.refresh_from_db()
    assert hook.disabled_at is not None
    html = body(ada.get(START))
    assert PUBLIC_URL in html
    assert "because it responded with 410 Gone. Repair it, then switch it on again." in html
    assert f"Events since {exact(hook.disabled_at)} were not sent to it" in strip_tags(html)
    for other in (staff.signed_in(umbrella.admin), sam):
        assert "410" not in body(other.get(START))
    [entry] = AuditEntry.objects.filter(action=Action.WEBHOOK_SWITCHED_OFF)
    assert entry.detail == f"{PUBLIC_URL} ({hook.pk}): it responded with 410 Gone"
    assert entry.person


def test_many_webhooks_that_fail_have_one_warning(acme: Tenant, ada: Client) -> None:
    hooks = [webhooks.endpoint(acme, f"https://hooks.example.com/{n}") for n in range(8)]
    for each in hooks[4:]:
        services.switch_off(each, reason="it responded with 410 Gone")
    Endpoint.objects.filter(enabled=True).update(failing_since=timezone.now())
    html = body(ada.get(START))
    off, failing = re.findall(r'<li class="banner banner-(?:bad|warn)">(.*?)</li>', html)
    assert "4 webhooks are switched off" in off
    assert f'{LIST}?state=failing">4 webhooks are failing' in failing


def test_webhook_secret_rolled_signs_beside_the_old_one_for_a_day(
    hook: Endpoint, ada: Client
) -> None:
    old = secrets.decrypt(hook.secret)
    form = form_of(body(ada.get(page_of(hook, "roll"))))
    raw = raw_of(ada.post(page_of(hook, "roll"), form))
    hook.refresh_from_db()
    assert secrets.decrypt(hook.secret) == raw
    assert secrets.decrypt(hook.previous_secret) == old
    assert hook.previous_secret_until is not None
    left = hook.previous_secret_until - timezone.now()
    assert timedelta(hours=23) < left <= timedelta(hours=24)
    assert_nowhere(raw)
    assert newest(Action.WEBHOOK_SECRET_ROLLED).detail == f"{PUBLIC_URL} ({hook.pk})"
    again = body(ada.post(page_of(hook, "roll"), form, follow=True))  # a reload
    assert "Nothing was rolled" in again
    assert "the previous secret signs too until" in again
    hook.refresh_from_db()
    assert secrets.decrypt(hook.secret) == raw


def test_webhook_deletion_erases_the_secrets_and_keeps_the_deliveries(
    hook: Endpoint, acme: Tenant, ada: Client, sam: Client
) -> None:
    delivery = webhooks.failed(hook)
    webhooks.delivery(hook)
    services.roll_secret(hook, by=acme.admin, seen="None")
    assert "Pending deliveries are discarded." in body(ada.get(page_of(hook, "delete")))
    html = body(ada.post(page_of(hook, "delete"), follow=True))
    assert f"The webhook {PUBLIC_URL} is deleted." in html
    hook.refresh_from_db()
    assert hook.deleted_at is not None
    assert (hook.secret, hook.previous_secret) == ("", "")
    assert newest(Action.WEBHOOK_DELETED).detail == f"{PUBLIC_URL} ({hook.pk})"
    for client in (ada, sam):
        html = body(client.get(page_of(hook)))
        assert f"The webhook was deleted on {exact(hook.deleted_at)}." in strip_tags(html)
        assert "Not sent: the webhook was deleted" in html
        assert delivery.public_event_id in html
        assert "<button" not in re.sub(r"(?s)<header.*?</header>", "", html)
        assert "The webhook was deleted on" in body(client.get(page_of(delivery)))
        assert staff.shown(client, "?state=deleted", LIST).result_list == [hook]
        assert staff.shown(client, "", LIST).result_list == []
    for name in ("edit", "roll", "delete", "test", "again", "switch_on"):
        assert ada.post(page_of(hook, name)).status_code == 404
    assert ada.post(page_of(delivery, "again")).status_code == 404


def test_webhook_test_event_is_added_to_the_queue(hook: Endpoint, ada: Client) -> None:
    html = body(ada.post(page_of(hook, "test"), follow=True))
    assert "A test event is on its way." in html
    [delivery] = Delivery.objects.all()
    assert (delivery.type, delivery.state) == (TEST_EVENT, "PENDING")
    assert delivery.public_event_id in html
    assert str(delivery.document_id) not in html
    assert "<dt>Document</dt><dd>–</dd>" in body(ada.get(page_of(delivery)))
    assert newest(Action.WEBHOOK_TEST_SENT).detail == f"{PUBLIC_URL} ({hook.pk})"


def test_webhook_failed_deliveries_are_sent_again(hook: Endpoint, ada: Client) -> None:
    in_an_hour = {"next_attempt_at": timezone.now() + timedelta(hours=1)}
    waiting = webhooks.delivery(hook, {"status": 503}, **in_an_hour)
    webhooks.delivery(hook)  # its first attempt is to come
    three = [webhooks.failed(hook), webhooks.failed(hook), waiting]
    accepted = webhooks.delivered(hook)
    assert "Send all undelivered again (3)" in body(ada.get(page_of(hook)))
    html = body(ada.post(page_of(hook, "again"), follow=True))
    assert "3 deliveries are being sent again." in html
    due = Delivery.objects.filter(state="PENDING", next_attempt_at__lte=timezone.now())
    assert due.filter(pk__in=[each.pk for each in three], failures=0).count() == 3
    assert newest(Action.WEBHOOK_SENT_AGAIN).detail.endswith(": 3 failed deliveries")
    assert "No deliveries to send again." in body(ada.post(page_of(hook, "again"), follow=True))
    accepted.refresh_from_db()
    assert accepted.state == "DELIVERED"
    ada.post(page_of(accepted, "again"))
    accepted.refresh_from_db()
    assert accepted.state == "PENDING"
    assert newest(Action.WEBHOOK_SENT_AGAIN).detail.endswith(f": {accepted.public_event_id}")


def test_webhook_delivery_that_is_being_sent_is_not_sent_again(hook: Endpoint, ada: Client) -> None:
    first = webhooks.delivery(hook)
    attempted = webhooks.delivery(
        hook, {"status": 503}, claimed_until=timezone.now() + timedelta(seconds=20)
    )
    before = list(Delivery.objects.order_by("pk").values())
    for each in (first, attempted):
        html = body(ada.post(page_of(each, "again"), follow=True))
        assert "Nothing was changed: it is being sent already." in html
    assert list(Delivery.objects.order_by("pk").values()) == before
    assert not AuditEntry.objects.filter(action=Action.WEBHOOK_SENT_AGAIN).exists()


# --- The list and the pages


def test_webhook_list_shows_state_last_delivery_and_failures_of_a_day(
    acme: Tenant, hook: Endpoint, ada: Client
) -> None:
    long_ago = {"started_at": timezone.now() - timedelta(hours=25), "status": 500}
    webhooks.delivery(hook, long_ago, state="FAILED")
    webhooks.failed(hook)
    webhooks.delivery(hook, {"error": "The connection was refused."})
    webhooks.delivered(hook)
    [row] = re.findall(r"(?s)<tbody>(.*)</tbody>", body(ada.get(LIST)))
    cells = [strip_tags(each).strip() for each in re.findall(r"(?s)<t[hd].*?</t[hd]>", row)]
    assert cells == [PUBLIC_URL, "document.completed", "On", "just now Delivered", "2"]
    failing, off = (webhooks.endpoint(acme, f"https://{name}.example/") for name in ("a", "b"))
    Endpoint.objects.filter(pk=failing.pk).update(failing_since=timezone.now())
    services.switch_off(off, by=acme.admin)
    for state, expected in (("on", hook), ("failing", failing), ("off", off)):
        assert staff.shown(ada, f"?state={state}", LIST).result_list == [expected]


def test_what_follows_a_webhook_s_host_is_for_its_admins_alone(
    hook: Endpoint, ada: Client, sam: Client
) -> None:
    assert "token=letmein" in body(ada.get(page_of(hook)))
    for client in (sam, staff.signed_in(staff.operator())):
        html = body(client.get(page_of(hook)))
        assert PUBLIC_URL in html
        assert "letmein" not in html
        assert "whsec_" not in html
    for name in ("switch_on", "test", "again"):  # buttons, and no links
        assert ada.get(page_of(hook, name))["Location"] == page_of(hook)
    assert AuditEntry.objects.filter(action__startswith="webhook.").count() == 1


@pytest.mark.parametrize("who", ["frozen", "freebie"])
def test_webhook_pages_say_that_deliveries_wait(who: str, request: Any) -> None:
    tenant = request.getfixturevalue(who)
    hook = webhooks.endpoint(tenant)
    delivery = webhooks.delivery(hook)
    client = staff.signed_in(tenant.admin)
    for url in (page_of(hook), page_of(delivery), NEW):
        assert "deliveries wait until" in body(client.get(url))
    Delivery.objects.update(failures=1)
    html = body(client.get(page_of(delivery)))
    assert "once the workspace may use the API" in html
    assert '<span class="pill pill-warn">Waiting</span>' in html
    Delivery.objects.update(failures=0)
    services.switch_off(hook, by=tenant.admin)
    for when in ("once the webhook is switched on", "once the workspace may use the API"):
        webhooks.failed(hook)
        for url, text in (
            (page_of(hook, "test"), f"A test event was added. It is sent {when}."),
            (page_of(webhooks.failed(hook), "again"), f"It is sent again {when}."),
            (page_of(hook, "again"), f"1 delivery is sent again {when}."),
        ):
            assert text in body(client.post(url, follow=True))
        on = body(client.post(page_of(hook, "switch_on"), follow=True))
    assert "Pending deliveries are sent once the workspace may use the API." in on


def test_webhook_deliveries_are_paged_and_filtered(
    acme: Tenant, hook: Endpoint, ada: Client
) -> None:
    made = [webhooks.delivered(hook) for _ in range(51)]
    refused = webhooks.failed(hook, type="document.sent")
    other = webhooks.endpoint(acme)
    first, second = webhooks.delivery(other), webhooks.delivery(other, {"status": 503})
    for state, expected in (("PENDING", first), ("RETRYING", second)):
        assert staff.shown(ada, f"?state={state}", page_of(other)).result_list == [expected]
    listed = staff.shown(ada, url=page_of(hook))
    assert listed.result_list == [refused, *made[::-1][:49]]
    assert staff.shown(ada, listed.older_url, page_of(hook)).result_list == made[::-1][49:]
    for query in ("?state=FAILED", "?type=document.sent", f"?q={refused.public_event_id}"):
        assert staff.shown(ada, query, page_of(hook)).result_list == [refused]
    assert (
        staff.shown(ada, "?state=FAILED&type=document.completed", page_of(hook)).result_list == []
    )


@pytest.mark.django_db(transaction=True)
def test_webhook_deliveries_are_found_by_event_and_document(acme: Tenant, umbrella: Tenant) -> None:
    hooks = [webhooks.endpoint(acme), webhooks.endpoint(umbrella)]
    documents = [factories.document(each.workspace, "COMPLETED") for each in (acme, umbrella)]
    ours, theirs = (Delivery.objects.get(endpoint=each) for each in hooks)
    ada, sam = staff.signed_in(acme.admin), staff.signed_in(staff.support())
    for text in (documents[0].pk, f"/api/v1/documents/{documents[0].pk}", ours.public_event_id):
        for client, url in ((ada, page_of(hooks[0])), (ada, DELIVERIES), (sam, DELIVERIES)):
            assert staff.shown(client, f"?q={text}", url).result_list == [ours]
    assert staff.shown(ada, f"?q={documents[1].pk}", DELIVERIES).result_list == []
    assert staff.shown(ada, f"?q={theirs.public_event_id}", page_of(hooks[0])).result_list == []
    assert staff.shown(sam, "", DELIVERIES).result_list == []
    assert staff.errors(ada, "?state=PENDING", DELIVERIES).keys() == {"q"}


def test_delivery_page_shows_the_body_and_every_attempt(hook: Endpoint, ada: Client) -> None:
    delivery = webhooks.delivery(
        hook,
        {"error": "The connection was refused.", "milliseconds": 12},
        {"status": 500, "response": "<script>alert(1)</script>", "milliseconds": 1234},
        next_attempt_at=timezone.now() + timedelta(minutes=5),
    )
    html = body(ada.get(page_of(delivery)))
    [sent] = re.findall(r"<pre[^>]*><code>(.*?)</code>", html)
    event = json.loads(sent.replace("&quot;", '"'))
    assert event["id"] == delivery.public_event_id
    assert event["data"] == {"id": str(delivery.document_id), "status": "COMPLETED"}
    for text in ("The connection was refused.", "&lt;script&gt;alert(1)&lt;/script&gt;", "1,234"):
        assert text in html
    assert delivery.next_attempt_at is not None
    assert exact(delivery.next_attempt_at) in html
    assert "Send again" in html
    due = body(ada.get(page_of(webhooks.delivery(hook))))
    assert "Send again" not in due  # on its way
    assert "as soon as possible" in due
    moved = webhooks.delivery(hook, {"status": 302})
    for url in (page_of(moved), page_of(hook)):
        assert "Redirects are not followed." in body(ada.get(url))


@pytest.mark.slow
@pytest.mark.parametrize("text", ["%00", "9" * 40, "%ED%A0%80"])
def test_webhook_pages_accept_any_input(hook: Endpoint, ada: Client, text: str) -> None:
    ada.raise_request_exception = False
    for url in (LIST, DELIVERIES, page_of(hook), page_of(webhooks.failed(hook)), NEW):
        for name in ("q", "state", "type", "workspace", "after", "other"):
            assert ada.get(f"{url}?{name}={text}").status_code in (200, 302), (url, name)
    for kind in ("endpoint", "delivery"):
        for name in ("change", "history", "delete"):
            url = f"/admin/webhooks/{kind}/{text}/{name}/"
            assert ada.get(url).status_code in (403, 404), url
    assert ada.post(page_of(hook, "roll"), {"seen": text}).status_code == 302
