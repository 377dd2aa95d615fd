"""A user of Support in a real browser: finds a key's story and a document's, and exports it."""

import csv
import io
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from audit.models import AuditEntry
from tests import factories
from tests.browser import Browser
from tests.factories import Tenant
from tests.server import eventually
from tests.staff import DOCUMENTS, HISTORY, happened, of, support


@pytest.fixture
def sam(browser: Browser) -> Browser:
    """A browser in which a user of Support has signed in."""
    browser.log_in(support())
    return browser


def column(browser: Browser, name: str) -> list[str]:
    """What a column of the list says, row by row."""
    cells = browser.driver.find_elements(By.CSS_SELECTOR, f"#result_list .field-{name}")
    return [cell.text for cell in cells]


def test_audit_list_tells_a_key_s_whole_story(acme: Tenant, umbrella: Tenant, sam: Browser) -> None:
    document = factories.document(acme.workspace, title="Lease")
    assert sam.server.get(f"/documents/{document.id}/download", acme.raw).status == 200
    key, _ = factories.issue(acme.workspace, "Nightly copy", acme.admin)
    key.delete_by(by=acme.admin)
    sam.open("/admin/")
    sam.check_layout("start-support")
    sam.click("Audit log")
    sam.check_layout("history")
    sam.submit(sam.find("#id_q"), "nightly COPY")
    label = f"Nightly copy ({key.prefix}…)"
    story = [f"API key deleted: {label}", f"API key created: {label}"]
    assert column(sam, "what_happened_to") == story
    sam.check_layout("history-searched")
    sam.click("UTC")
    assert label in sam.text
    sam.check_layout("history-entry")
    sam.click("Nightly copy")
    assert column(sam, "what_happened_to") == story
    sam.check_layout("history-of-a-key")


def test_audit_search_cuts_a_pasted_raw_key_in_the_address(acme: Tenant, sam: Browser) -> None:
    sam.open(HISTORY)
    sam.submit(sam.find("#id_q"), acme.raw)
    assert f"q={acme.key.prefix}" in sam.driver.current_url
    assert acme.raw not in sam.driver.current_url
    assert acme.raw not in sam.source
    [created] = column(sam, "what_happened_to")
    assert created == f"API key created: Acme sync ({acme.key.prefix}…)"


def test_audit_filters_by_workspace_action_and_dates(
    acme: Tenant, umbrella: Tenant, sam: Browser
) -> None:
    happened(60, **of(umbrella.workspace))
    sam.open(HISTORY)
    sam.find(".select2-selection").click()
    sam.find(".select2-search__field").send_keys("umbr")
    eventually(lambda: "Umbrella ·" in sam.find(".select2-results").text)
    sam.find(".select2-search__field").send_keys(Keys.ENTER)
    sam.click("Show")
    assert set(column(sam, "workspace")) == {"Umbrella"}
    assert "Umbrella" in sam.find(".select2-selection").text
    sam.check_layout("history-filtered")
    sam.click("Older")
    assert len(column(sam, "workspace")) == 11
    sam.click("Newer")
    sam.find("#id_action__exact").send_keys("API key created")
    sam.click("Show")
    assert column(sam, "who") == ["admin@umbrella.example"]
    sam.click("Clear all")
    assert set(column(sam, "workspace")) == {"Acme", "Umbrella"}


def test_audit_search_reports_what_cannot_be_searched_for(sam: Browser) -> None:
    sam.open(f"{HISTORY}?since=yesterday&q=dtd_a&key_id__exact=7")
    for text in ("This is not a day.", "enter its first 12 characters", "This is not an id."):
        assert text in sam.text
    sam.check_layout("history-errors")
    sam.open(f"{HISTORY}?q=nobody")
    assert "Nothing matches." in sam.text


def test_document_page_leads_from_a_ticket_to_the_audit_log(acme: Tenant, sam: Browser) -> None:
    document = factories.document(acme.workspace, title="Lease of the flat, second floor")
    factories.recipient(document, "SIGNER", "SIGNED")
    factories.recipient(document, "APPROVER", "SENT", email="bob@example.com", order=2)
    assert sam.server.get(f"/documents/{document.id}/download", acme.raw).status == 200
    sam.open(DOCUMENTS)
    sam.check_layout("documents")
    sam.submit(sam.find("#id_q"), str(document.id))
    assert column(sam, "progress") == ["1 of 2"]
    sam.click("Lease")
    assert "bob@example.com" in sam.text
    sam.check_layout("document")
    sam.click("Audit log")
    assert "Document downloaded" in column(sam, "what_happened_to")
    assert "Document: Lease of the flat" in sam.text
    sam.check_layout("history-of-a-document")


def test_audit_export_is_a_file(acme: Tenant, sam: Browser, tmp_path: Path) -> None:
    happened(3, **of(acme.workspace, document_title="=1+1"))
    sam.cdp("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    sam.open(f"{HISTORY}?action__exact=document.downloaded")
    sam.find("a.export").click()
    [file] = eventually(lambda: list(tmp_path.glob("*.csv")))
    rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8-sig"), newline="")))
    assert [row["document_title"] for row in rows] == ["'=1+1"] * 3


def test_evidence_before_the_first_seal_is_a_message(acme: Tenant, sam: Browser) -> None:
    document = factories.document(acme.workspace, title="Lease")
    assert sam.server.get(f"/documents/{document.id}/download", acme.raw).status == 200
    sam.open(f"{HISTORY}?document_id__exact={document.id}")
    sam.check_layout("history-of-a-document-with-evidence")
    sam.click("Download evidence")
    assert "No evidence file was made. No entry is sealed yet" in sam.text


def test_audit_list_of_an_admin_has_the_own_workspace_s(
    acme: Tenant, umbrella: Tenant, browser: Browser
) -> None:
    browser.log_in(acme.admin)
    browser.open(HISTORY)
    assert column(browser, "workspace") == ["Acme"]
    assert "Umbrella" not in browser.source
    browser.check_layout("history-of-an-admin")
    browser.open(
        f"{HISTORY}{AuditEntry.objects.get(workspace_id=umbrella.workspace.id).pk}/change/"
    )
    assert "Umbrella" not in browser.source
