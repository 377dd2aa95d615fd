"""A user of Support in a real browser: finds a key's story and a document's, and exports it."""

import pytest
from django.urls import reverse
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from audit.models import Action
from tests.support import factories
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.staff import HISTORY, happened, of, support
from tests.support.usage import refused


@pytest.fixture
def sam(browser: Browser) -> Browser:
    """A browser in which a user of Support has signed in."""
    browser.log_in(support())
    return browser


def column(browser: Browser, name: str) -> list[str]:
    """What a column of the list says, row by row."""
    cells = browser.driver.find_elements(By.CSS_SELECTOR, f"#result_list .{name}")
    return [cell.text for cell in cells]


def test_story_of_an_unasked_download(acme: Tenant, sam: Browser) -> None:
    """Who, when, from where, which key, the whole file? Two clicks and a search."""
    document = factories.document(acme.workspace, title="Lease")
    path = f"/documents/{document.id}/download"
    assert sam.server.get(path, acme.raw).status == 200
    sam.open("/admin/")
    sam.follow(sam.find(".sections-nav a[href$='/audit/auditentry/']"))
    sam.submit(sam.find("#id_q"), f"Who took https://api.example.com/api/v1{path} ?")
    assert column(sam, "word") == ["Document downloaded"]
    [row] = column(sam, "what")
    assert row.startswith("Lease, original")
    [who] = column(sam, "who")
    assert who.startswith(f"Acme sync ({acme.key.prefix}…)")
    assert "127.0.0.1" not in sam.find("#result_list").text
    sam.find("#result_list summary").send_keys(Keys.ENTER)
    assert "127.0.0.1" in sam.find("#result_list").text
    assert sam.find("#result_list a[href$='/evidence/']").is_displayed()
    sam.check_layout("history-of-a-download")
    sam.follow(sam.find("#result_list a.only[href*='key_id']"))
    assert sam.clicks == 2
    assert column(sam, "word") == ["Document downloaded", "API key created"]
    assert column(sam, "who")[1] == acme.admin.username


def test_chart_narrows_the_list_by_a_click_and_has_a_table(acme: Tenant, sam: Browser) -> None:
    happened(3, **of(acme.workspace))
    happened(1, **of(acme.workspace, action=Action.LOGIN))
    sam.open(f"{HISTORY}?since=2026-03-01&until=2026-03-01")
    assert len(column(sam, "word")) == 4
    sam.check_layout("history-chart")
    sam.find(".chart summary").click()
    sam.click("2026-03-01 12:00")
    assert len(column(sam, "word")) == 2
    assert sam.find("#id_since").get_attribute("value") == "2026-03-01T12:00"


def test_audit_search_cuts_a_pasted_raw_key_in_the_address(acme: Tenant, sam: Browser) -> None:
    sam.open(HISTORY)
    sam.submit(sam.find("#id_q"), acme.raw)
    assert f"q={acme.key.prefix}" in sam.driver.current_url
    assert acme.raw not in sam.driver.current_url
    assert acme.raw not in sam.source
    assert column(sam, "word") == ["API key created"]
    assert column(sam, "what")[0].startswith(f"Acme sync ({acme.key.prefix}…)")


def test_audit_filters_by_workspace_action_and_dates(
    acme: Tenant, umbrella: Tenant, sam: Browser
) -> None:
    happened(1, **of(umbrella.workspace))
    sam.open(HISTORY)
    sam.find(".list-filters summary").click()
    field = sam.find("#id_workspace_id__exact")
    field.send_keys("umbr")
    offered = "return document.querySelector('datalist option')?.value"
    label = f"Umbrella · {str(umbrella.workspace.id)[:8]}"
    assert eventually(lambda: sam.driver.execute_script(offered) == label)
    field.clear()
    sam.submit(field, label)
    assert set(column(sam, "where")) == {"Umbrella"}
    assert sam.find("#id_workspace_id__exact").get_attribute("value") == label
    sam.check_layout("history-filtered")
    sam.click("Clear all")
    assert set(column(sam, "where")) == {"Acme", "Umbrella"}


def test_fifty_entries_are_less_than_two_screens_high(acme: Tenant, sam: Browser) -> None:
    happened(49, **of(acme.workspace, action=Action.WEBHOOK_CREATED, detail="https://a.example\nx"))
    size = {"width": 1280, "height": 800, "deviceScaleFactor": 1, "mobile": False}
    sam.cdp("Emulation.setDeviceMetricsOverride", **size)
    sam.open(HISTORY)
    assert len(column(sam, "word")) == 50
    assert sam.find("#result_list").size["height"] <= 1700
    sam.cdp("Emulation.clearDeviceMetricsOverride")


def test_line_of_a_flood_says_how_many_requests_and_opens(acme: Tenant, sam: Browser) -> None:
    key = {"key_id": acme.key.pk, "key_name": acme.key.name, "key_prefix": acme.key.prefix}
    key["cause"] = "too_many_requests"
    refused(1, **of(acme.workspace, **key), status=429, more=11)
    refused(1, address="203.0.113.9", user_agent="curl/8")
    sam.open(reverse("admin:usage_refusedrequest_changelist"))
    assert column(sam, "word") == ["404 document_not_found", "429 12 × too_many_requests"]
    sam.check_layout("refused-requests")
    sam.find(".log li:last-child > details > summary").click()
    assert "and 11 more with this status" in sam.find(".log details[open]").text
    sam.check_layout("refused-requests-opened")
