"""A workspace's admin in a real browser: a webhook's whole life, as they see it."""

import re
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from events.webhooks.models import Delivery, Endpoint
from tests.support import webhooks
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.webhooks import PUBLIC_URL, URL

LIST = reverse("admin:webhooks_endpoint_changelist")
START = reverse("admin:index")


def raw_secret(browser: Browser) -> str:
    """The secret that the page shows."""
    text = str(browser.find("#raw-secret").text)
    assert re.fullmatch(r"whsec_[A-Za-z0-9+/]{43}=", text)
    return text


def test_webhook_pages_create_test_switch_roll_send_again_and_delete(
    acme: Tenant, browser: Browser
) -> None:
    browser.log_in(acme.admin)
    browser.open(START)
    browser.follow(browser.find(".sections-nav a[href*='webhooks']"))
    browser.check_layout("webhooks-empty")
    browser.click("Create the first webhook")
    browser.find("#id_url").send_keys("http://hooks.example.com")
    browser.find("input[value='document.completed']").click()
    browser.click("Create the webhook")
    browser.check_layout("webhook-new-errors")
    browser.find("#id_url").clear()
    browser.find("#id_url").send_keys(URL)
    browser.find("input[value='document.completed']").click()
    browser.click("Create the webhook")
    raw = raw_secret(browser)
    assert browser.shows("Send a test event")
    browser.check_layout("webhook-created")
    browser.find("button[data-copy=raw-secret]").click()
    assert browser.shows("Secret copied.")
    browser.reload()
    assert "Nothing was created" in browser.text
    assert raw not in browser.source
    browser.click("Send a test event")
    browser.check_layout("webhook-test")
    browser.click("Switch off…")
    browser.click("Switch off")
    browser.check_layout("webhook-off")
    browser.click("Switch on")
    Delivery.objects.update(state="FAILED", failures=10, next_attempt_at=None)
    browser.reload()
    browser.click("Send all undelivered again (1)")
    browser.click("Roll the secret…")
    browser.click("Roll the secret")
    new = raw_secret(browser)
    assert new != raw
    browser.check_layout("webhook-rolled")
    browser.click("Go to the webhook")
    browser.back()
    assert new not in browser.source
    browser.open(LIST)
    browser.click(PUBLIC_URL)
    browser.click("Change…")
    browser.find("input[value='document.declined']").click()
    browser.click("Save")
    browser.click("Delete…")
    browser.click("Delete this webhook")
    assert "is deleted." in browser.text
    assert Endpoint.objects.get().deleted_at is not None


def test_webhook_shows_the_result_of_a_test_by_itself(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    delivery = webhooks.delivery(webhooks.endpoint(acme))
    for page in ("endpoint", "delivery"):
        id = delivery.endpoint_id if page == "endpoint" else delivery.pk
        browser.open(reverse(f"admin:webhooks_{page}_change", args=[id]))
        assert "The service is sending." in browser.text
        Delivery.objects.update(state="DELIVERED", next_attempt_at=None)
        assert eventually(lambda: "The service is sending." not in browser.source)
        assert ">Delivered</span>" in browser.source
        Delivery.objects.update(state="PENDING", next_attempt_at=timezone.now())


def test_webhook_deliveries_are_shown_filtered_and_sent_again(
    acme: Tenant, browser: Browser
) -> None:
    hook = webhooks.endpoint(acme, f"https://hooks.example.com/{'deep/' * 60}")
    for _ in range(3):
        webhooks.delivered(hook)
    webhooks.delivery(
        hook,
        {"error": "There was no response within 15 seconds.", "milliseconds": 15_000},
        {"status": 500, "response": "<h1>Internal Server Error</h1>" + "x" * 900},
        state="FAILED",
        next_attempt_at=None,
    )
    webhooks.delivery(
        hook,
        {"error": "The certificate was not accepted: self-signed certificate"},
        next_attempt_at=timezone.now() + timedelta(minutes=5),
    )
    browser.log_in(acme.admin)
    browser.open(reverse("admin:webhooks_endpoint_change", args=[hook.pk]))
    assert "There was no complete" not in browser.text  # only the last attempt is shown
    browser.check_layout("webhook-deliveries")
    browser.find(".list-filters summary").click()
    browser.find("#id_state option[value=FAILED]").click()
    browser.click("Show")
    browser.follow(browser.find("#result_list tbody a"))
    browser.check_layout("delivery")
    browser.click("Send again")
    browser.check_layout("delivery-sent-again")
