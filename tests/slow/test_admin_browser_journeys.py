"""What users come for, in a real browser, and how they read it."""

import json
import re
import subprocess
from datetime import UTC, datetime, timedelta

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from apikeys.models import ApiKey
from events.webhooks.models import Delivery
from tests.support import factories, staff
from tests.support.browser import Browser
from tests.support.cast import page_of
from tests.support.factories import Tenant
from tests.support.server import Server, eventually
from tests.support.staff import NEW_KEY, PASSWORD, START
from tests.support.usage import refused
from tests.support.webhooks import PUBLIC_URL, URL, delivery, endpoint
from workspaces.models import Membership, Workspace

EVE = "eve@initech.example"


def test_admin_signs_in_creates_copies_and_uses_a_key_and_never_sees_it_again(
    acme: Tenant, browser: Browser
) -> None:
    staff.give_password(acme.admin)
    browser.open("/admin/")
    browser.check_layout("sign-in")
    browser.find("#id_username").send_keys(acme.admin.username)
    browser.submit(browser.find("#id_password"), "wrong")
    assert "The e-mail address or the password is wrong" in browser.text
    browser.submit(browser.find("#id_password"), PASSWORD)
    browser.follow(browser.find("header nav a[href*='apikeys']"))
    browser.click("Create a key")
    browser.find("#id_name").send_keys("CRM sync")
    browser.click("Create the key")
    raw = browser.find(".secret").text
    # The lines of the page, as a shell runs them, with the key pasted.
    lines = f"{browser.find('#export').text}\n{browser.find('#curl').text}"
    shown = subprocess.check_output(["bash", "-c", lines], input=f"{raw}\n", text=True)
    assert json.loads(shown)["data"]["key"]["name"] == "CRM sync"
    browser.find(".secret + button").click()
    assert browser.shows("Copied.")
    browser.check_layout("key-created")
    for leave in (browser.driver.refresh, browser.driver.back, browser.driver.forward):
        with browser.next_page():
            leave()
        assert raw not in browser.source
    browser.open(NEW_KEY)
    field = browser.find("#id_name")
    field.send_keys(Keys.CONTROL, "v")
    assert eventually(lambda: field.get_property("value")) == raw
    assert ApiKey.objects.filter(name="CRM sync").count() == 1


def test_first_day_from_a_new_workspace_to_its_admin_s_first_key(browser: Browser) -> None:
    browser.log_in(staff.operator())
    browser.open(START)
    browser.click("Create a workspace")
    browser.find("#id_name").send_keys("Initech")
    browser.find("#id_plan").send_keys("Pro")
    browser.click("Create the workspace")
    browser.find("#id_email").send_keys(EVE)
    browser.click("Invite")
    link = browser.find("pre.secret").text
    assert re.search(r"\?token=[\w-]{43}$", link)

    browser.forget()
    browser.driver.get(link)
    assert "token" not in browser.driver.current_url
    browser.check_layout("invitation")
    fields = {"first_name": "Eve", "last_name": "Ek", "password1": PASSWORD, "password2": PASSWORD}
    for name, text in fields.items():
        browser.find(f"#id_{name}").send_keys(text)
    browser.click("Create the account")
    browser.click("Create")
    browser.find("#id_name").send_keys("First")
    browser.click("Create the key")
    assert browser.clicks == 3 + 3
    assert browser.find(".secret").text.startswith("dtd_")
    workspace = Workspace.objects.get(name="Initech")
    assert Membership.objects.admins().filter(workspace=workspace, user__username=EVE).exists()


def test_webhook_is_created_tested_and_switched_off(acme: Tenant, browser: Browser) -> None:
    browser.log_in(acme.admin)
    browser.open(START)
    browser.follow(browser.find("header nav a[href*='webhooks']"))
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
    browser.check_layout("webhook-created")
    browser.click(PUBLIC_URL)
    browser.click("Send a test event")
    assert "The service sends no webhooks at present." in browser.text
    Delivery.objects.update(state="DELIVERED", next_attempt_at=None)
    assert eventually(lambda: ">Delivered</span>" in browser.source)  # by itself
    assert eventually(lambda: browser.shows("A test event was created"))
    browser.click("Switch off…")
    browser.click("Switch off")
    browser.check_layout("webhook-off")
    browser.open(START)
    Workspace.objects.update(suspended=True)
    browser.driver.execute_script("const { now } = Date; Date.now = () => now() + 61000")
    assert eventually(lambda: "suspended" in browser.text)  # the page looks each minute


def test_each_tab_keeps_its_workspace(acme: Tenant, umbrella: Tenant, browser: Browser) -> None:
    staff.member(umbrella.workspace, acme.admin.username, "ADMIN")
    browser.log_in(acme.admin)
    browser.open(page_of(acme.key))
    for leave in (browser.find("header nav a[href*='webhooks']").click, browser.driver.refresh):
        browser.driver.execute_script(f"return fetch('{page_of(umbrella.key)}')")  # as another tab
        with browser.next_page():
            leave()
        assert browser.find("header .button").text.startswith("Acme")


def column(browser: Browser, number: int) -> list[str]:
    """What a column of the log says, row by row."""
    cells = browser.driver.find_elements(By.CSS_SELECTOR, f".log .row td:nth-child({number})")
    return [cell.text for cell in cells]


def test_support_finds_out_about_a_download(
    acme: Tenant, service: Server, browser: Browser
) -> None:
    """Support searches once and clicks three times to see who downloaded a document, and when."""
    document = factories.document(acme.workspace, title="Lease")
    path = f"/documents/{document.id}/download"
    assert service.get(path, acme.raw).status == 200
    browser.log_in(staff.support())
    browser.open(START)
    browser.submit(browser.find(".find input[name=q]"), f"https://api.example.com/api/v1{path} ?")
    browser.click("All entries of this document")
    assert column(browser, 2) == ["Document's page opened", "Document downloaded"]
    browser.follow(browser.find(".log .row:last-child td a"))
    assert "127.0.0.1" in browser.find(".log .open").text
    assert browser.find(".log .open a[href$='/evidence/']").is_displayed()
    assert column(browser, 4)[1] == "Lease, original"
    browser.check_layout("history-of-a-download")
    browser.cdp("Emulation.setEmulatedMedia", media="print")
    shown = {each: browser.find(each).is_displayed() for each in ("header", ".filters", ".log")}
    browser.cdp("Emulation.setEmulatedMedia", media="")
    assert shown == {"header": False, ".filters": False, ".log": True}
    reasons = browser.find(".log .row td:nth-child(4)").location["x"]
    browser.follow(browser.find(".log .row a[href*='key_id']"))
    assert browser.clicks == 3
    assert column(browser, 2) == ["Document downloaded", "API key created"]
    assert column(browser, 3)[0] == f"{acme.key.prefix}… Acme sync"
    Workspace.objects.update(name="W" * 100)
    browser.open(f"{staff.HISTORY}?workspace_id__exact={acme.workspace.pk}")
    assert browser.find(".log .row td:nth-child(4)").location["x"] == reasons
    refused(reason="Why? " * 99, response_text="", workspace_id=acme.workspace.pk)
    browser.open(staff.REFUSED)
    cell, below = browser.find(".why").rect, browser.find(".why > .quiet").rect
    assert below["y"] + below["height"] <= cell["y"] + cell["height"]


def test_times_are_in_the_reader_s_own_zone_once_with_utc_as_tooltip(
    acme: Tenant, browser: Browser
) -> None:
    browser.log_in(staff.support())
    browser.cdp("Emulation.setTimezoneOverride", timezoneId="Asia/Tokyo")  # 9 hours before UTC
    moment = datetime(2026, 3, 1, 14, 59, 59, tzinfo=UTC)
    of_acme = staff.of(acme.workspace)
    [entry] = staff.happened(1, **of_acme, created_at=moment)
    staff.happened(1, **of_acme, created_at=moment + timedelta(seconds=1))
    browser.open(f"{staff.HISTORY}?since=2026-03-01&until=2026-03-01")
    days = browser.driver.find_elements(By.CSS_SELECTOR, ".day")
    assert [day.text for day in days] == ["Mon, 2 Mar 2026, Asia/Tokyo", "Sun, 1 Mar 2026"]
    times = browser.driver.find_elements(By.CSS_SELECTOR, ".log .row time")
    assert [time.text for time in times] == ["00:00:00", "23:59:59"]
    assert times[1].get_attribute("title") == "2026-03-01 14:59:59 UTC"
    browser.open(page_of(entry))
    assert "23:59:59" in browser.text
    assert "14:59:59" not in browser.text
    hook = endpoint(acme)
    browser.open(page_of(delivery(hook, {"status": 503, "started_at": moment})))
    assert browser.find(".line time").text == "2026-03-01 23:59:59"
