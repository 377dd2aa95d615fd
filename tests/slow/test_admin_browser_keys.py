"""A workspace's admin in a real browser: a key's whole life, as they see it."""

import json
import re
import subprocess

from django.urls import reverse
from django.utils import timezone
from selenium.webdriver.common.keys import Keys

from apikeys.models import ApiKey
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.server import eventually

LIST = reverse("admin:apikeys_apikey_changelist")
NEW = reverse("admin:apikeys_apikey_add")
START = reverse("admin:index")
PASSWORD = "correct horse battery staple"


def raw_key(browser: Browser) -> str:
    """The key that the page shows."""
    text = str(browser.find("#raw-key").text)
    assert re.fullmatch(r"dtd_[A-Za-z0-9]{40}", text)
    return text


def pasted(browser: Browser) -> str:
    """What the clipboard holds."""
    browser.open(NEW)
    field = browser.find("#id_name")
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
    browser.follow(browser.find(".sections-nav a[href*='apikeys']"))
    browser.click("Create a key")
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


def test_key_is_created_and_copied_in_twelve_tabs_and_forgotten_when_its_page_is_left(
    acme: Tenant, browser: Browser
) -> None:
    """Also where the page is not secure, and browsers copy in another way."""
    browser.log_in(acme.admin)
    browser.open(START)
    tabs = tab_to(browser, "Create a key")
    browser.submit(browser.driver.switch_to.active_element, "")
    browser.submit(browser.driver.switch_to.active_element, "Nightly export")  # it has the focus
    raw = raw_key(browser)
    tabs += tab_to(browser, "Copy the key")
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.shows("Key copied.")
    assert tabs <= 12
    browser.driver.execute_script(
        "Object.defineProperty(window, 'isSecureContext', {value: false})"
    )
    browser.find("button[data-copy=curl]").click()
    assert browser.shows("Command copied.")
    browser.click("back to the keys")
    browser.back()
    assert raw not in browser.source
    browser.forward()
    assert raw not in browser.source
    line = f'curl -H "Authorization: Bearer $DTD_API_KEY" "{browser.url}/api/v1/me"'
    assert pasted(browser) == line


def tab_to(browser: Browser, text: str) -> int:
    """Presses Tab until what has the focus has this text; returns how many times."""
    for tabs in range(30):
        focused = browser.driver.switch_to.active_element
        if focused.text == text:
            return tabs
        focused.send_keys(Keys.TAB)
    raise AssertionError(f"{text} has not got the focus")


def test_key_that_is_revoked_and_deleted_gets_401(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    assert acme.get("/me").status == 200
    ApiKey.objects.update(last_used_at=timezone.now())
    browser.open(LIST)
    browser.click("Revoke…")
    assert acme.key.name in browser.text
    assert "just now" in browser.text
    browser.click("Revoke this key")
    assert browser.server.get("/me", acme.raw).status == 401
    browser.click(acme.key.name)
    browser.check_layout("key-revoked")
    browser.click("Delete…")
    browser.click("Delete this key")
    assert "is deleted." in browser.text
    browser.click(acme.key.name)  # its entries in the audit log
    assert "API key deleted" in browser.text


def test_key_that_ended_is_dimmed_as_a_whole(acme: Tenant, browser: Browser) -> None:
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
