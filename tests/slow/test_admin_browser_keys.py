"""A workspace's admin in a real browser: a key's whole life, as they see it."""

import json
import re
import subprocess
from collections.abc import Callable
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from selenium.webdriver.common.keys import Keys

from apikeys.models import ApiKey
from apikeys.usage.models import RefusedRequest
from tests.support import factories, staff
from tests.support.browser import Browser
from tests.support.factories import Tenant, at
from tests.support.server import eventually
from workspaces.models import Membership

LIST = reverse("admin:apikeys_apikey_changelist")
NEW = reverse("admin:apikeys_apikey_add")
START = reverse("admin:index")
USERS: dict[str, Callable[[Tenant], User]] = {
    "member": lambda tenant: staff.member(tenant.workspace, "bob@acme.example"),
    "support": lambda tenant: staff.support(),
    "operator": lambda tenant: staff.operator(),
}
PASSWORD = "correct horse battery staple"


def raw_key(browser: Browser) -> str:
    """The key that the page shows."""
    text = str(browser.find("#raw-key").text)
    assert re.fullmatch(r"dtd_[A-Za-z0-9]{40}", text)
    return text


def create(browser: Browser, name: str) -> str:
    """Creates a key by keyboard alone: the name's field has the focus."""
    browser.open(NEW)
    browser.submit(browser.driver.switch_to.active_element, name)
    return raw_key(browser)


def pasted(browser: Browser) -> str:
    """What the clipboard holds."""
    browser.open(NEW)
    field = browser.find("#id_note")
    field.send_keys(Keys.CONTROL, "v")
    return str(eventually(lambda: field.get_property("value")))


def test_key_pages_sign_in_create_copy_call_reload_and_see_nothing(
    acme: Tenant, browser: Browser
) -> None:
    acme.admin.set_password(PASSWORD)
    acme.admin.save()
    browser.open("/admin/")
    browser.check_layout("sign-in")
    browser.find("#id_username").send_keys(acme.admin.username)
    browser.submit(browser.find("#id_password"), "wrong")
    assert "The e-mail address or the password is wrong" in browser.text
    browser.check_layout("sign-in-failed")
    browser.submit(browser.find("#id_password"), PASSWORD)
    browser.check_layout("start-workspace-admin")
    browser.click("API keys")
    browser.click("Create a key")
    browser.check_layout("key-new")
    browser.find("#id_name").send_keys("CRM sync")
    browser.click("Create the key")
    raw = raw_key(browser)
    assert browser.server.get("/me", raw).json()["data"]["key"]["name"] == "CRM sync"
    # The lines of the page, as a shell runs them, with the key pasted.
    lines = f"{browser.find('#export').text}\n{browser.find('#curl').text}"
    shell = subprocess.run(
        ["bash", "-c", lines], input=f"{raw}\n", capture_output=True, text=True, check=True
    )
    assert json.loads(shell.stdout)["data"]["key"]["name"] == "CRM sync"
    browser.find("button[data-copy=raw-key]").click()
    assert browser.shows("Key copied.")
    browser.check_layout("key-created")
    browser.reload()
    assert "Nothing was created" in browser.text
    assert raw not in browser.source
    browser.back()
    assert raw not in browser.source
    browser.forward()
    assert raw not in browser.source
    assert pasted(browser) == raw
    assert ApiKey.objects.filter(name="CRM sync").count() == 1


def test_key_created_page_forgets_the_key_when_it_is_left(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    raw = create(browser, "Nightly export")
    browser.click("back to the keys")
    browser.back()
    assert raw not in browser.source
    browser.forward()
    assert raw not in browser.source


def test_key_created_page_copies_where_the_page_is_not_secure(
    acme: Tenant, browser: Browser
) -> None:
    browser.log_in(acme.admin)
    raw = create(browser, "Nightly export")
    browser.driver.execute_script(
        "Object.defineProperty(window, 'isSecureContext', {value: false})"
    )
    browser.find("button[data-copy=curl]").click()
    assert browser.shows("Command copied.")
    line = f'curl -H "Authorization: Bearer $DTD_API_KEY" "{browser.url}/api/v1/me"'
    assert pasted(browser) == line
    assert raw not in line


def test_key_pages_create_a_key_in_three_clicks(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    browser.open(START)
    browser.click("Create a key")
    browser.find("#id_name").send_keys("CRM sync")
    browser.click("Create the key")
    browser.find("button[data-copy=raw-key]").click()
    assert browser.shows("Key copied.")
    assert browser.clicks + 1 == 3
    raw = raw_key(browser)
    assert pasted(browser) == raw
    assert browser.server.get("/me", raw).status == 200


def test_key_pages_revoke_in_three_clicks_then_401_and_delete(
    acme: Tenant, browser: Browser
) -> None:
    browser.log_in(acme.admin)
    assert acme.get("/me").status == 200
    browser.open(START)
    browser.click("API keys")
    browser.click("Revoke…")
    assert acme.key.name in browser.text
    assert "just now" in browser.text
    browser.check_layout("key-revoke")
    browser.click("Revoke this key")
    assert browser.clicks == 3
    assert "“Acme sync” is revoked." in browser.text
    browser.check_layout("keys-revoked")
    assert browser.server.get("/me", acme.raw).status == 401
    browser.click(acme.key.name)
    browser.check_layout("key-revoked")
    browser.click("Delete…")
    browser.click("Delete this key")
    assert browser.clicks == 6
    assert "No keys yet" in browser.text
    browser.check_layout("keys-empty")
    browser.click(acme.key.name)
    assert "Deleted by" in browser.text
    browser.check_layout("key-deleted")


def test_key_pages_roll_a_key(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    browser.open(START)
    browser.click("API keys")
    browser.click(acme.key.name)
    browser.check_layout("key")
    browser.click("Roll…")
    browser.check_layout("key-roll")
    assert not browser.find(".field-expires_on").is_displayed()
    browser.find("#id_old_key_ends option[value='0']").click()
    browser.click("Roll the key")
    assert browser.clicks == 4
    raw = raw_key(browser)
    browser.check_layout("key-rolled")
    assert browser.server.get("/me", raw).status == 200
    assert browser.server.get("/me", acme.raw).status == 401
    browser.reload()
    assert "Nothing was created" in browser.text
    assert raw not in browser.source
    browser.check_layout("keys-rolled")


def test_key_that_ended_is_dimmed_as_a_whole_and_its_timeline_ends_with_its_last_dot(
    acme: Tenant, browser: Browser
) -> None:
    acme.key.revoke(by=acme.admin)
    browser.log_in(acme.admin)
    browser.open(LIST)
    named = ".ended .field-name > a"
    colours = [
        browser.find(selector).value_of_css_property("color")
        for selector in (named, ".ended code", ".ended .pill", ".ended .field-created")
    ]
    assert len(set(colours)) == 1
    assert int(browser.find(named).value_of_css_property("font-weight")) == 400
    browser.check_layout("keys-ended")
    browser.click(acme.key.name)
    lines = [
        browser.find(f".timeline li:{which}").value_of_css_property("border-left-color")
        for which in ("first-child", "last-child")
    ]
    assert lines[0] != lines[1] == "rgba(0, 0, 0, 0)"


def test_key_deletion_of_a_key_in_use_asks_for_its_name(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    assert browser.server.get("/me", acme.raw).status == 200
    browser.open(reverse("admin:apikeys_apikey_delete", args=[acme.key.pk]))
    browser.check_layout("key-delete")
    browser.submit(browser.driver.switch_to.active_element, "acme")
    assert "Nothing was deleted: the text differs." in browser.text
    browser.find("#id_typed").clear()
    browser.submit(browser.find("#id_typed"), acme.key.name)
    assert "“Acme sync” is deleted." in browser.text


def test_key_form_gives_a_hint_and_asks_for_a_day_when_it_is_needed(
    acme: Tenant, browser: Browser
) -> None:
    browser.log_in(acme.admin)
    browser.open(NEW)
    hint, day = browser.find("#same-name"), browser.find(".field-expires_on")
    name = browser.find("#id_name")
    name.send_keys("acme syn")
    assert not hint.is_displayed()
    assert not day.is_displayed()
    name.send_keys("c")
    assert hint.is_displayed()
    browser.find("#id_expires option[value=day]").click()
    assert day.is_displayed()
    browser.check_layout("key-new-hint")


@pytest.mark.parametrize("who", ["support", "operator"])
def test_key_page_tells_support_why_its_workspace_is_refused_in_one_click(
    frozen: Tenant, browser: Browser, who: str
) -> None:
    browser.log_in(USERS[who](frozen))
    browser.open(reverse("admin:apikeys_apikey_change", args=[frozen.key.pk]))
    assert "suspended: its keys are refused" in browser.text
    assert browser.clicks == 0
    browser.check_layout(f"key-{who}")


def test_key_list_revokes_several(acme: Tenant, browser: Browser) -> None:
    for number in range(1, 8):
        factories.issue(acme.workspace, f"Integration number {number}", acme.admin)
    ApiKey.objects.filter(name__endswith="3").update(last_used_at=at("2026-01-05 10:00:00"))
    browser.log_in(acme.admin)
    browser.open(LIST)
    browser.check_layout("keys-many")
    for box in ("1", "3"):
        browser.find(f"tr:nth-child({box}) input.action-select").click()
    assert not browser.driver.find_elements("css selector", "#searchbar")
    browser.find("select[name=action] option[value=revoke_selected]").click()
    browser.follow(browser.find("button[name=index]"))
    assert "Revoke these 2 keys?" in browser.text
    browser.check_layout("keys-revoke")
    browser.click("Revoke these 2 keys")
    assert ApiKey.objects.filter(revoked_at=None).count() == 6
    browser.open(f"{LIST}?state=revoked")
    browser.check_layout("keys-filtered")
    browser.open(f"{LIST}?q=nothing+like+it")
    browser.check_layout("keys-none-found")


def test_key_and_workspace_pages_of_an_admin_of_two_workspaces(
    freebie: Tenant, umbrella: Tenant, browser: Browser
) -> None:
    Membership.objects.create(workspace=umbrella.workspace, user=freebie.admin, role="ADMIN")
    browser.log_in(freebie.admin)
    browser.open(NEW)
    browser.check_layout("key-new-two-workspaces")
    browser.open(LIST)
    browser.check_layout("keys-two-workspaces")
    browser.open(reverse("admin:workspaces_workspace_change", args=[freebie.workspace.pk]))
    browser.check_layout("workspace-of-admin")


def test_key_pages_show_the_admin_next_door_nothing(
    acme: Tenant, umbrella: Tenant, browser: Browser
) -> None:
    browser.log_in(umbrella.admin)
    for name in ("change", "revoke", "delete", "history"):
        browser.open(reverse(f"admin:apikeys_apikey_{name}", args=[acme.key.pk]))
        assert "Page not found" in browser.text
        assert "Acme" not in browser.source
    browser.check_layout("not-found")


def test_key_section_is_not_shown_to_members(acme: Tenant, browser: Browser) -> None:
    browser.log_in(USERS["member"](acme))
    browser.open(START)
    assert "API keys" not in browser.find("main").text
    browser.check_layout("start-member")
    browser.open(LIST)
    assert "Permission denied" in browser.text
    browser.check_layout("not-allowed")


def test_key_page_leads_to_all_its_429s_in_one_click(acme: Tenant, browser: Browser) -> None:
    for status in (404, 429, 429):
        RefusedRequest.objects.create(
            created_at=timezone.now(),
            request_id=uuid4().hex,
            status=status,
            response_text="Told to the client.",
            reason="The true reason.",
            key_id=acme.key.pk,
            key_name=acme.key.name,
            workspace_id=acme.workspace.pk,
            workspace_name="Acme",
            method="GET",
            path="/api/v1/me",
        )
    browser.log_in(staff.support())
    browser.open(reverse("admin:apikeys_apikey_change", args=[acme.key.pk]))
    browser.click("All over the limit (429)")
    assert browser.clicks == 1
    assert browser.text.count("The true reason.") == 2
    browser.click(acme.key.name)
    browser.check_layout("key-refused")


@pytest.mark.parametrize("who", ["support", "operator"])
def test_key_section_finds_a_key_for_support(acme: Tenant, browser: Browser, who: str) -> None:
    browser.log_in(USERS[who](acme))
    browser.open(START)
    browser.check_layout(f"start-{who}")
    browser.open(LIST)
    browser.check_layout("keys-support")
    browser.submit(browser.find("#searchbar"), acme.key.prefix)
    browser.click(acme.key.name)
    assert "Revoke…" not in browser.text


def test_admin_pages_of_an_operator(acme: Tenant, umbrella: Tenant, browser: Browser) -> None:
    browser.log_in(staff.operator())
    browser.open(reverse("admin:workspaces_workspace_changelist"))
    browser.check_layout("workspaces")
    browser.open(reverse("admin:workspaces_workspace_change", args=[acme.workspace.pk]))
    browser.check_layout("workspace-of-operator")
    browser.open(reverse("admin:auth_user_changelist"))
    browser.check_layout("users")
    browser.open(reverse("admin:auth_user_change", args=[acme.admin.pk]))
    browser.check_layout("user")


def test_admin_session_that_ended_leads_to_the_form(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    browser.open(LIST)
    assert "API keys" in browser.text
    acme.admin.is_active = False
    acme.admin.save()
    browser.click(acme.key.name)
    assert browser.find("#login-form")
