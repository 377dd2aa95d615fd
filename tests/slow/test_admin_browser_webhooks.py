"""A workspace's admin in a real browser: a webhook's whole life, as they see it."""

import re
from datetime import timedelta

from django.urls import reverse
from django.utils import timezone

from events.webhooks.models import Delivery, Endpoint
from tests.support import webhooks
from tests.support.browser import Browser
from tests.support.factories import Tenant
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
    browser.click("Webhooks")
    browser.check_layout("webhooks-empty")
    browser.click("Create the first webhook")
    browser.check_layout("webhook-new")
    browser.find("#id_url").send_keys("http://hooks.example.com")
    browser.find("input[value='document.completed']").click()
    browser.click("Create the webhook")
    assert "Nothing was saved" in browser.text
    assert "Choose at least one." in browser.text
    browser.check_layout("webhook-new-errors")
    browser.find("#id_url").clear()
    browser.find("#id_url").send_keys(URL)
    browser.find("input[value='document.completed']").click()
    browser.click("Create the webhook")
    raw = raw_secret(browser)
    browser.check_layout("webhook-created")
    browser.find("button[data-copy=raw-secret]").click()
    assert browser.shows("Secret copied.")
    browser.reload()
    assert "Nothing was created" in browser.text
    assert raw not in browser.source
    browser.click("Send a test event")
    assert "A test event is on its way." in browser.text
    assert "webhook.test" in browser.text
    browser.check_layout("webhook-test")
    browser.click("Switch off…")
    browser.check_layout("webhook-switch-off")
    browser.click("Switch off")
    assert "Switched off on" in browser.text
    browser.check_layout("webhook-off")
    browser.click("Switch on")
    assert "It is on" in browser.text
    Delivery.objects.update(state="FAILED", failures=10, next_attempt_at=None)
    browser.reload()
    browser.click("Send all undelivered again (1)")
    assert "1 delivery is being sent again." in browser.text
    browser.click("Roll the secret…")
    browser.check_layout("webhook-roll")
    browser.click("Roll the secret")
    new = raw_secret(browser)
    assert new != raw
    browser.check_layout("webhook-rolled")
    browser.click("Go to the webhook")
    browser.back()
    assert new not in browser.source
    browser.open(LIST)
    browser.check_layout("webhooks")
    browser.click(PUBLIC_URL)
    browser.click("Change…")
    browser.check_layout("webhook-change")
    browser.find("input[value='document.declined']").click()
    browser.click("Save")
    assert "document.declined" in browser.text
    browser.click("Delete…")
    browser.check_layout("webhook-delete")
    browser.click("Delete this webhook")
    assert "is deleted." in browser.text
    assert Endpoint.objects.get().deleted_at is not None


def test_webhook_deliveries_are_shown_filtered_and_sent_again(
    acme: Tenant, browser: Browser
) -> None:
    hook = webhooks.endpoint(acme, f"https://hooks.example.com/{'deep/' * 60}")
    for _ in range(3):
        webhooks.delivered(hook)
    failed = webhooks.delivery(
        hook,
        {"error": "There was no complete response within 15 seconds.", "milliseconds": 15_000},
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
    assert "500 in 31 ms" in browser.text
    browser.check_layout("webhook-deliveries")
    browser.find("#id_state option[value=FAILED]").click()
    browser.click("Show")
    assert browser.text.count("evt_") == 2  # in the help of the search too
    browser.follow(browser.find("#result_list tbody a"))
    assert "<h1>Internal Server Error</h1>" in browser.text
    browser.check_layout("delivery")
    browser.click("Send again")
    assert "It is being sent again." in browser.text
    failed.refresh_from_db()
    assert failed.state == "PENDING"
    browser.check_layout("delivery-sent-again")
