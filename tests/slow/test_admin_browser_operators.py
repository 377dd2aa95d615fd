"""An operator's first day in a browser, with clicks counted; and each page of operators."""

import re

from django.urls import reverse
from selenium.webdriver.common.keys import Keys

from tests.support import staff
from tests.support.browser import Browser
from tests.support.factories import Tenant
from workspaces.models import Membership, Workspace

EVE = "eve@initech.example"
SECRET = "a long enough passphrase"


class Counting:
    """Counts the clicks of a story."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self.clicks = 0

    def click(self, text: str) -> None:
        self.browser.click(text)
        self.clicks += 1

    def type(self, selector: str, text: str) -> None:
        self.browser.find(selector).send_keys(text)


def page(workspace: Workspace, name: str = "change") -> str:
    return reverse(f"admin:workspaces_workspace_{name}", args=[workspace.pk])


def test_first_day_from_a_new_workspace_to_its_admin_s_first_key(browser: Browser) -> None:
    browser.log_in(staff.operator())
    browser.open(reverse("admin:index"))
    olga = Counting(browser)
    olga.click("Create a workspace")
    olga.type("#id_name", "Initech")
    olga.type("#id_plan", "Pro")
    olga.click("Create the workspace")
    olga.click("Invite somebody")
    olga.type("#id_email", EVE)
    olga.click("Invite")
    assert olga.clicks == 4
    link = browser.find("code.secret").text
    assert re.search(r"\?token=[\w-]{43}$", link)

    browser.driver.delete_all_cookies()
    browser.driver.get(link)
    assert "token" not in browser.driver.current_url
    browser.check_layout("invitation")
    eve = Counting(browser)
    for name, text in (("first_name", "Eve"), ("last_name", "Ek")):
        eve.type(f"#id_{name}", text)
    for name in ("password1", "password2"):
        eve.type(f"#id_{name}", SECRET)
    eve.click("Create the account")
    assert browser.shows(f"You are now an admin of Initech. Sign in with {EVE}")
    eve.type("#id_username", EVE)
    browser.submit(browser.find("#id_password"), SECRET)
    eve.click("Create")
    eve.type("#id_name", "First")
    eve.click("Create the key")
    assert eve.clicks == 3
    assert browser.find("#raw-key").text.startswith("dtd_")
    workspace = Workspace.objects.get(name="Initech")
    assert Membership.objects.admins().filter(workspace=workspace, user__username=EVE).exists()


def test_members_are_changed_and_removed_by_keyboard(acme: Tenant, browser: Browser) -> None:
    bob = staff.member(acme.workspace, "bob@acme.example")
    browser.log_in(acme.admin)
    browser.open(page(acme.workspace))
    role = browser.find("select[aria-label='Role of bob@acme.example']")
    role.send_keys("Admin")
    with browser.next_page():
        role.send_keys(Keys.TAB)
        browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert bob.memberships.get().role == "ADMIN"
    remove = browser.find("button[aria-label='Remove bob@acme.example…']")
    with browser.next_page():
        remove.send_keys(Keys.ENTER)
    browser.check_layout("member-remove")
    browser.click("Remove bob@acme.example")
    assert browser.shows("bob@acme.example was removed from Acme.")
    assert not bob.memberships.exists()


def test_workspace_is_suspended_in_two_clicks_from_its_page(acme: Tenant, browser: Browser) -> None:
    browser.log_in(staff.operator())
    browser.open(page(acme.workspace))
    olga = Counting(browser)
    olga.click("Suspend…")
    assert browser.shows("1 active key stops now.")
    browser.check_layout("workspace-suspend")
    olga.type("#id_reason", "Unpaid")
    olga.click("Suspend Acme")
    assert olga.clicks == 2
    assert browser.shows("Acme · 00000001 is suspended.")
    assert browser.shows(f"by {staff.operator()}: Unpaid")
    browser.check_layout("workspace-suspended")
