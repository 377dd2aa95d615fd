"""Signing in with a second factor in a real browser, and the pages of an account's safety."""

from collections.abc import Iterator

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from tests.support import staff
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.fixtures import Shared
from tests.support.server import Server
from tests.support.staff import PASSWORD, code
from workspaces.accounts import recovery_codes
from workspaces.models import Session

ROUNDS = PBKDF2PasswordHasher.iterations  # before `fixtures.py` changes it


@pytest.fixture
def service(shared: Shared, transactional_db: None) -> Iterator[Server]:
    """A server that wants a second factor of operators."""
    yield from shared(Server, ROLE="pages", SECOND_FACTOR="operators")


def with_password(user: User) -> User:
    """With as many rounds as in the server, which would hash it anew, and end the session."""
    user.password = PBKDF2PasswordHasher().encode(PASSWORD, "salt" * 8, ROUNDS)
    user.save()
    return user


def enter_password(browser: Browser, user: User) -> None:
    browser.open(reverse("admin:login"))
    browser.find("#id_username").send_keys(user.username)
    browser.submit(browser.find("#id_password"), PASSWORD)


def enter_code(browser: Browser, text: str) -> None:
    """The field has the focus."""
    browser.submit(browser.driver.switch_to.active_element, text)


def test_operator_sets_up_a_second_factor_and_signs_in_with_it(browser: Browser) -> None:
    olga = with_password(staff.operator())
    enter_password(browser, olga)
    browser.check_layout("second-factor-set-up")
    device = TOTPDevice.objects.get()
    enter_code(browser, code(device))
    browser.check_layout("recovery-codes")
    assert len(browser.find(".secret").text.splitlines()) == recovery_codes.CODES
    browser.click("I have copied the recovery codes")

    browser.follow(browser.find(".account"))
    browser.click("Sign out")
    TOTPDevice.objects.update(last_t=-1)
    enter_password(browser, olga)
    browser.check_layout("code")
    enter_code(browser, code(device))
    assert browser.driver.current_url.endswith("/admin/")


def test_form_with_a_password_keeps_none_of_it(acme: Tenant, browser: Browser) -> None:
    browser.log_in(with_password(acme.admin))
    browser.open(reverse("admin:password_change"))
    for field in ("old_password", "new_password1", "new_password2"):
        browser.find(f"#id_{field}").send_keys("a-secret-text")
    Session.objects.all().delete()
    browser.follow(browser.find("main button"))
    assert "a-secret-text" not in str(browser.driver.execute_script("return {...sessionStorage}"))
