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


def page(workspace: Workspace, name: str = "change") -> str:
    return reverse(f"admin:workspaces_workspace_{name}", args=[workspace.pk])


def test_first_day_from_a_new_workspace_to_its_admin_s_first_key(browser: Browser) -> None:
    browser.log_in(staff.operator())
    browser.open(reverse("admin:index"))
    browser.click("Create a workspace")
    browser.find("#id_name").send_keys("Initech")
    browser.find("#id_plan").send_keys("Pro")
    browser.click("Create the workspace")
    browser.find("#id_email").send_keys(EVE)
    browser.click("Invite")
    assert browser.clicks == 3
    link = browser.find("code.secret").text
    assert re.search(r"\?token=[\w-]{43}$", link)

    browser.driver.delete_all_cookies()
    browser.driver.get(link)
    assert "token" not in browser.driver.current_url
    browser.check_layout("invitation")
    fields = {"first_name": "Eve", "last_name": "Ek", "password1": SECRET, "password2": SECRET}
    for name, text in fields.items():
        browser.find(f"#id_{name}").send_keys(text)
    browser.click("Create the account")
    assert browser.shows(f"You are now an admin of Initech. Sign in with {EVE}")
    browser.find("#id_username").send_keys(EVE)
    browser.submit(browser.find("#id_password"), SECRET)
    browser.click("Create")
    browser.find("#id_name").send_keys("First")
    browser.click("Create the key")
    assert browser.clicks == 3 + 3
    assert browser.find("#raw-key").text.startswith("dtd_")
    workspace = Workspace.objects.get(name="Initech")
    assert Membership.objects.admins().filter(workspace=workspace, user__username=EVE).exists()


def test_members_are_changed_and_removed_by_keyboard(acme: Tenant, browser: Browser) -> None:
    bob = staff.member(acme.workspace, "bob@acme.example")
    browser.log_in(acme.admin)
    browser.open(page(acme.workspace))
    promote = browser.find("button[aria-label='Make an admin: bob@acme.example']")
    with browser.next_page():
        promote.send_keys(Keys.ENTER)
    assert bob.memberships.get().role == "ADMIN"
    remove = browser.find("button[aria-label='Remove bob@acme.example…']")
    with browser.next_page():
        remove.send_keys(Keys.ENTER)
    browser.check_layout("member-remove")
    browser.click("Remove bob@acme.example")
    assert browser.shows("bob@acme.example was removed from Acme.")
    assert not bob.memberships.exists()
