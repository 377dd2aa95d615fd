"""Why was a request refused? Support and admins find out in a browser, with few clicks."""

import pytest
from django.urls import reverse

from apikeys.usage import report
from apikeys.usage.models import KeyUsage
from tests.support import staff
from tests.support.browser import Browser
from tests.support.factories import Tenant, uid
from tests.support.usage import refused

LIST = reverse("admin:usage_refusedrequest_changelist")


@pytest.fixture
def busy(acme: Tenant, umbrella: Tenant) -> Tenant:
    """Acme and Umbrella, with usage and refused requests of today."""
    for number, tenant in enumerate((acme, umbrella)):
        KeyUsage.objects.create(
            key_id=tenant.key.pk,
            day=report.today(),
            workspace_id=tenant.workspace.pk,
            ok=1190 + number,
            errors=8,
            limited=6,
            downloads=36,
        )
    facts = {
        "key_id": acme.key.pk,
        "key_name": acme.key.name,
        "key_prefix": acme.key.prefix,
        "workspace_id": acme.workspace.pk,
        "workspace_name": acme.workspace.name,
        "address": "203.0.113.77",
        "user_agent": "acme-sync/1.0",
    }
    refused(3, **facts, path=f"/api/v1/documents/{uid(9, 3)}/download")
    refused(1, **facts, status=429, more=4120, request_id="b" * 32)
    refused(1, **facts, status=401, reason="The key “Acme sync” was revoked.", request_id="c" * 32)
    refused(1, status=401, key_prefix="dtd_ZZZZZZZZ", request_id="d" * 32)
    return acme


def test_support_finds_a_refused_request_by_its_id_in_two_clicks(
    busy: Tenant, browser: Browser
) -> None:
    browser.log_in(staff.support())
    browser.open("/admin/")
    browser.check_layout("start-support")
    browser.find("#refused-search").send_keys("00000001")
    browser.follow(browser.find("#refused-search + input"))  # click 1
    browser.check_layout("refused-found")
    assert "No document has this id." in browser.find("#result_list").text
    browser.follow(browser.find("#result_list .field-request_link a"))  # click 2
    browser.check_layout("refused-page")
    assert f"00000001{'f' * 24}" in browser.find("main").text


def test_all_429_of_a_key_are_one_click_from_the_start_page(busy: Tenant, browser: Browser) -> None:
    browser.log_in(staff.support())
    browser.open("/admin/")
    browser.follow(browser.find(f"a[href*='{busy.key.pk}&status__exact=429']"))
    assert "4,120 more like it" in browser.find("#result_list").text
    browser.open(LIST)
    browser.check_layout("refused-list")


def test_start_pages_of_an_operator_and_an_admin(busy: Tenant, browser: Browser) -> None:
    browser.log_in(staff.operator())
    browser.open("/admin/")
    browser.check_layout("start-operator")
    assert "1,205" in browser.find("main").text
    browser.log_in(busy.admin)
    browser.open("/admin/")
    browser.check_layout("start-admin")
    assert "1,204" in browser.find("main .figures").text
    browser.follow(browser.find("main .figures a"))
    browser.check_layout("refused-admin")
