"""An operator's first day in a browser, with clicks counted; and each page of operators."""

import re

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support import factories, staff
from tests.support.browser import Browser
from tests.support.factories import Tenant
from workspaces.accounts import invitations
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


@pytest.mark.parametrize(
    "name",
    ["workspaces", "workspace-new", "workspace-plan", "workspace-invite", "accounts", "account"]
    + ["account-new", "account-password", "account-deactivate", "system", "operator-start"],
)
def test_pages_of_operators_fit_and_are_accessible(
    acme: Tenant, frozen: Tenant, browser: Browser, name: str
) -> None:
    account: User = acme.admin
    browser.log_in(staff.operator())
    browser.open(
        {
            "workspaces": reverse("admin:workspaces_workspace_changelist"),
            "workspace-new": reverse("admin:workspaces_workspace_add"),
            "workspace-plan": page(acme.workspace, "plan"),
            "workspace-invite": page(acme.workspace, "invite"),
            "accounts": reverse("admin:auth_user_changelist"),
            "account": reverse("admin:auth_user_change", args=[account.pk]),
            "account-new": reverse("admin:auth_user_add"),
            "account-password": reverse("admin:auth_user_password", args=[account.pk]),
            "account-deactivate": reverse("admin:auth_user_deactivate", args=[account.pk]),
            "system": reverse("system"),
            "operator-start": reverse("admin:index"),
        }[name]
    )
    browser.check_layout(name)


@pytest.mark.parametrize("who", ["admin", "support", "operator"])
def test_workspace_page_fits_and_is_accessible(acme: Tenant, browser: Browser, who: str) -> None:
    staff.member(acme.workspace, "bob@acme.example")
    closed = staff.member(acme.workspace, "a-very-long-address-of-somebody@subsidiary.acme.example")
    User.objects.filter(pk=closed.pk).update(is_active=False)
    invitations.create(acme.workspace, EVE, "ADMIN", by=acme.admin, mailed=False)
    people = {"admin": lambda: acme.admin, "support": staff.support, "operator": staff.operator}
    browser.log_in(people[who]())
    browser.open(page(acme.workspace))
    browser.check_layout(f"workspace-{who}")
    unlabelled = browser.driver.find_elements(By.CSS_SELECTOR, "td select:not([aria-label])")
    assert unlabelled == []


def test_question_about_a_name_that_exists_is_accessible(acme: Tenant, browser: Browser) -> None:
    browser.log_in(factories.user("root@ops.example", is_staff=True, is_superuser=True))
    browser.open(reverse("admin:workspaces_workspace_add"))
    browser.find("#id_name").send_keys("Acme")
    browser.click("Create the workspace")
    assert browser.shows("Acme · 00000001, created")
    browser.check_layout("workspace-same-name")
