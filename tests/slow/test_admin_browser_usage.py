"""Why was a request refused? Support finds out in a browser, with few clicks."""

from tests.support import staff
from tests.support.browser import Browser
from tests.support.factories import Tenant, uid
from tests.support.usage import refused


def test_support_finds_a_refused_request_by_its_id_in_two_clicks(
    acme: Tenant, browser: Browser
) -> None:
    [row] = refused(
        key_id=acme.key.pk,
        key_name=acme.key.name,
        key_prefix=acme.key.prefix,
        workspace_id=acme.workspace.pk,
        workspace_name=acme.workspace.name,
        path=f"/api/v1/documents/{uid(9, 3)}/download",
    )
    browser.log_in(staff.support())
    browser.open("/admin/")
    browser.check_layout("start-support")
    browser.find("#refused-search").send_keys(row.request_id[:8])
    browser.follow(browser.find("#refused-search + input"))  # click 1
    browser.check_layout("refused-found")
    assert "No document has this id." in browser.find("#result_list").text
    browser.follow(browser.find("#result_list .field-request_link a"))  # click 2
    browser.check_layout("refused-page")
    assert row.request_id in browser.find("main").text
