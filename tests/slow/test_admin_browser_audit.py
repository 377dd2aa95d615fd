"""A user of Support in a real browser: finds a key's story and a document's, and exports it."""

import pytest
from selenium.webdriver.common.by import By

from audit.models import Action, AuditEntry
from tests.support import factories
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.staff import HISTORY, happened, of, support


@pytest.fixture
def sam(browser: Browser) -> Browser:
    """A browser in which a user of Support has signed in."""
    browser.log_in(support())
    return browser


def column(browser: Browser, name: str) -> list[str]:
    """What a column of the list says, row by row."""
    cells = browser.driver.find_elements(By.CSS_SELECTOR, f"#result_list .field-{name}")
    return [cell.text for cell in cells]


def test_story_of_an_unasked_download(acme: Tenant, sam: Browser) -> None:
    """Who, when, from where, which key, the whole file? Two clicks and a search."""
    document = factories.document(acme.workspace, title="Lease")
    path = f"/documents/{document.id}/download"
    assert sam.server.get(path, acme.raw).status == 200
    eventually(lambda: AuditEntry.objects.filter(action=Action.DOWNLOAD_ENDED).exists())
    sam.open("/admin/")
    sam.follow(sam.find("main a[href$='/audit/auditentry/']"))
    sam.submit(sam.find("#id_q"), f"Who took https://api.example.com/api/v1{path} ?")
    [row] = column(sam, "what_happened_to")
    [end] = AuditEntry.objects.filter(action=Action.DOWNLOAD_ENDED)
    assert row == f"Document downloaded (original) all {end.bytes_sent:,} bytes sent"
    [who] = column(sam, "who")
    assert who.startswith(f"Acme sync ({acme.key.prefix}…)")
    assert column(sam, "address_link") == ["127.0.0.1"]
    assert column(sam, "when")[0].endswith(" UTC")
    sam.check_layout("history-of-a-download")
    sam.follow(sam.find(".field-who a[href*='/apikeys/apikey/']"))
    assert sam.clicks == 2
    for text in ("Acme sync", acme.admin.username, "Active"):
        assert text in sam.text


def test_chart_narrows_the_list_by_a_click_and_has_a_table(acme: Tenant, sam: Browser) -> None:
    happened(3, **of(acme.workspace))
    happened(1, **of(acme.workspace, action=Action.LOGIN))
    sam.open(f"{HISTORY}?since=2026-03-01&until=2026-03-01")
    assert len(column(sam, "when")) == 4
    sam.check_layout("history-chart")
    sam.find(".chart summary").click()
    sam.click("2026-03-01 12:00")
    assert len(column(sam, "when")) == 2
    assert sam.find("#id_since").get_attribute("value") == "2026-03-01 12"


def test_audit_search_cuts_a_pasted_raw_key_in_the_address(acme: Tenant, sam: Browser) -> None:
    sam.open(HISTORY)
    sam.submit(sam.find("#id_q"), acme.raw)
    assert f"q={acme.key.prefix}" in sam.driver.current_url
    assert acme.raw not in sam.driver.current_url
    assert acme.raw not in sam.source
    [created] = column(sam, "what_happened_to")
    assert created.startswith(f"API key created: Acme sync ({acme.key.prefix}…)")


def test_audit_filters_by_workspace_action_and_dates(
    acme: Tenant, umbrella: Tenant, sam: Browser
) -> None:
    happened(1, **of(umbrella.workspace))
    sam.open(HISTORY)
    field = sam.find("#id_workspace_id__exact")
    field.send_keys("umbr")
    offered = "return document.querySelector('datalist option')?.value"
    label = f"Umbrella · {str(umbrella.workspace.id)[:8]}"
    assert eventually(lambda: sam.driver.execute_script(offered) == label)
    field.clear()
    sam.submit(field, label)
    assert set(column(sam, "workspace")) == {"Umbrella"}
    assert sam.find("#id_workspace_id__exact").get_attribute("value") == label
    sam.check_layout("history-filtered")
    sam.click("Clear all")
    assert set(column(sam, "workspace")) == {"Acme", "Umbrella"}
