"""Signing in: throttled, recorded, silent about who exists; and sessions that end."""

import io
import logging
import re
import threading
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import Any

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher
from django.contrib.auth.models import User
from django.contrib.auth.tokens import default_token_generator
from django.db import connection
from django.test import Client
from django.urls import reverse

from audit.models import Action
from tests.support import factories
from tests.support.cast import entries
from tests.support.database import whole_database
from tests.support.factories import Tenant
from tests.support.server import PATIENCE, eventually
from tests.support.staff import PASSWORD, START, give_password, signed_in
from workspaces.accounts import invitations, throttle
from workspaces.accounts.logins import with_login
from workspaces.accounts.passwords import link
from workspaces.accounts.throttle import ACCOUNT, ADDRESS, BROWSER, SIGNED_IN
from workspaces.models import Session

pytestmark = pytest.mark.usefixtures("still_windows")

LOGIN = reverse("admin:login")
WRONG = "wrong"


@pytest.fixture
def ada(acme: Tenant) -> User:
    return give_password(acme.admin)


def attempt(browser: Client, login: str, password: str = WRONG) -> Any:
    return browser.post(LOGIN, {"username": login, "password": password, "next": START})


def sign_in(login: str, password: str = WRONG, address: str = "192.0.2.1") -> Any:
    return attempt(Client(REMOTE_ADDR=address), login, password)


def exhaust(login: str) -> Any:
    """Somebody elsewhere uses up the account's limit; the response to a right password."""
    for number in range(ACCOUNT.attempts):
        assert sign_in(login, address=f"192.0.2.{number}").status_code == 200
    response = sign_in(login, PASSWORD, address="192.0.2.99")
    assert response.status_code == 429
    return response


def same(response: Any, login: str) -> tuple[int, list[str]]:
    """What two responses have in common: all but the token and what was typed."""
    lines = response.content.decode().replace(login, "LOGIN").splitlines()
    return response.status_code, [line for line in lines if "csrfmiddleware" not in line]


@pytest.mark.parametrize("login", ["ceo@bıg.example", "ceo@ſun.example"])
def test_login_is_no_other_one_that_only_looks_like_it(db: None, login: str) -> None:
    stored = give_password(factories.user(login, is_staff=True))
    lookalike = unicodedata.normalize("NFKC", login).upper().lower()
    assert lookalike.isascii()
    assert not with_login(lookalike).exists()
    assert with_login(login.replace("ceo", "Ceo")).get() == stored
    other = factories.user(lookalike)
    assert (with_login(login).get(), with_login(lookalike.upper()).get()) == (stored, other)
    if "ı" in login:  # Django's form makes the other letter an ASCII one
        assert sign_in(login.replace("ceo", "Ceo"), PASSWORD).status_code == 302


def test_login_that_fails_looks_the_same_whoever_it_was_and_asks_for_the_password_again(
    ada: User,
) -> None:
    hidden = give_password(factories.user("gone@acme.example", is_staff=True, is_active=False))
    plain = give_password(factories.user("signer@acme.example"))
    wrong = same(sign_in(ada.username), ada.username)
    assert wrong[0] == 200
    assert "<title>Error: Sign in |" in str(wrong[1])
    for login, password in [
        ("nobody@acme.example", "wrong"),
        (hidden.username, PASSWORD),
        (plain.username, PASSWORD),
    ]:
        assert same(sign_in(login, password), login) == wrong
    assert len(entries(Action.LOGIN_FAILED)) == 4
    for response, name in ((Client().get(LOGIN), "username"), (sign_in(ada.username), "password")):
        [focused] = re.findall("<input [^>]*autofocus[^>]*>", response.content.decode())
        assert f'name="{name}"' in focused


@pytest.mark.parametrize("login", ["admin@acme.example", "nobody@acme.example"])
def test_login_is_throttled_by_account_whether_it_exists_or_not(ada: User, login: str) -> None:
    assert 1 <= int(exhaust(login)["Retry-After"]) <= 3600
    assert len(entries(Action.LOGIN_FAILED)) == ACCOUNT.attempts
    assert sign_in(login.upper(), PASSWORD).status_code == 429
    assert sign_in("other@acme.example").status_code == 200


def test_login_refused_for_its_address_or_network_of_ipv6_does_not_touch_the_account(
    ada: User,
) -> None:
    for number in range(ADDRESS.attempts):
        sign_in(f"guess{number}@acme.example", address=f"2001:db8:1:2::{number:x}")
    for _ in range(ACCOUNT.attempts + 1):
        assert sign_in(ada.username, address="2001:db8:1:2::ffff").status_code == 429
    assert sign_in(ada.username, PASSWORD, address="2001:db8:1:3::1").status_code == 302


def test_login_counts_only_failures(ada: User) -> None:
    for _ in range(ACCOUNT.attempts + 1):
        assert sign_in(ada.username, PASSWORD).status_code == 302
    for number in range(ACCOUNT.attempts):
        assert sign_in(ada.username).status_code == 200
        if not number:  # a right password does not make it forget the failure
            assert sign_in(ada.username, PASSWORD).status_code == 302
    assert sign_in(ada.username, PASSWORD).status_code == 429


def known_browser(user: User) -> Client:
    """A browser that the user has signed in with, and signed out of."""
    browser = Client(REMOTE_ADDR="198.51.100.1")
    attempt(browser, user.username, PASSWORD)
    browser.post(reverse("admin:logout"))
    return browser


def test_login_of_a_known_browser_has_a_limit_of_its_own(ada: User) -> None:
    browser, other = known_browser(ada), known_browser(ada)
    assert browser.get(START).status_code == 302  # the cookie signs in to nothing
    for secret in (PASSWORD, ada.password):
        assert secret not in browser.cookies["known_browser"].value
    exhaust(ada.username)
    assert attempt(browser, ada.username, PASSWORD).status_code == 302  # nobody locks it out
    for _ in range(BROWSER.attempts):
        assert attempt(browser, ada.username).status_code == 200
    assert attempt(other, ada.username, PASSWORD).status_code == 429  # all of them together


@pytest.mark.parametrize("cookie", [None, "1:abc:def", "\x00"])
def test_login_knows_no_browser_of_another_account_password_or_cookie(
    ada: User, umbrella: Tenant, cookie: str | None
) -> None:
    browser, password = known_browser(ada), PASSWORD
    exhaust(umbrella.admin.username)
    assert attempt(browser, umbrella.admin.username).status_code == 429
    if cookie is None:
        password = f"{PASSWORD} 2"
        give_password(ada, password)
    else:
        browser.cookies["known_browser"] = cookie.replace("1", str(ada.pk), 1)
    exhaust(ada.username)
    assert attempt(browser, ada.username, password).status_code == 429


class SlowHasher(PBKDF2PasswordHasher):
    """Takes as long as the test wants, for wrong passwords."""

    algorithm = "slow"
    begun, may_end = threading.Semaphore(0), threading.Event()

    def encode(self, password: str, salt: str, iterations: int | None = None) -> str:
        if password == WRONG:
            self.begun.release()
            assert self.may_end.wait(PATIENCE)
        return super().encode(password, salt, iterations)


def stranger_at_each_door(acme: Tenant) -> Iterator[Any]:
    """What strangers get where a password is hashed, before their body is there."""
    reset = link("password_reset_confirm", acme.admin, default_token_generator)
    _, token = invitations.create(acme.workspace, "eve@x.example", by=acme.admin, mailed=True)
    unreadable = io.BytesIO()
    unreadable.close()
    for number, opened in enumerate((LOGIN, reset, f"{reverse('invitation')}?token={token}")):
        stranger: Any = Client(REMOTE_ADDR=f"198.51.100.{number}")
        door = stranger.get(opened, follow=True).request["PATH_INFO"]
        yield stranger.post(door, **{"wsgi.input": unreadable, "CONTENT_LENGTH": 100})


def test_passwords_of_strangers_are_hashed_one_at_once_and_stop_no_page(
    transactional_db: None, acme: Tenant, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two wait for their turn, for a moment."""
    monkeypatch.setattr(throttle, "WAIT_SECONDS", 0.1)
    settings.PASSWORD_HASHERS = [f"{__name__}.SlowHasher"]
    SlowHasher.may_end.clear()
    ada = give_password(acme.admin)
    browser, page = known_browser(ada), signed_in(ada)
    guesser = known_browser(give_password(factories.user("bob@x.example", is_staff=True)))

    def guess(who: Client, login: str, password: str = WRONG) -> Any:
        with closing(connection):
            return attempt(who, login, password)

    with ThreadPoolExecutor() as pool:
        guesses = [pool.submit(guess, Client(), "nobody@acme.example")]
        # A customer's own browser has two places, also to guess others' passwords.
        guesses += [pool.submit(guess, guesser, ada.username) for _ in range(2)]
        assert all(SlowHasher.begun.acquire(timeout=PATIENCE) for _ in guesses)
        for response in (*stranger_at_each_door(acme), guesser.post(LOGIN, {})):
            assert (response.status_code, response["Retry-After"]) == (429, "2")
        assert page.get(START).status_code == 200
        assert attempt(browser, ada.username, PASSWORD).status_code == 302
        monkeypatch.setattr(throttle, "WAIT_SECONDS", PATIENCE)
        following = [pool.submit(guess, Client(), ada.username, PASSWORD) for _ in range(2)]
        assert eventually(lambda: throttle.LINE._value == 0)  # they wait
        assert sign_in(ada.username, PASSWORD).status_code == 429
        SlowHasher.may_end.set()
        assert [each.result().status_code for each in guesses] == [200] * 3
        assert [each.result().status_code for each in following] == [302] * 2
    assert sign_in(ada.username, PASSWORD).status_code == 302


def test_account_has_at_most_100_guesses_in_any_hour() -> None:
    limits = (ACCOUNT, BROWSER, SIGNED_IN)  # each counts for all of the account's browsers together
    assert {limit.minutes for limit in limits} == {60}
    assert 2 * sum(limit.attempts for limit in limits) <= 100


def test_login_with_odd_names_is_just_wrong(ada: User) -> None:
    for login in ("", "a\x00b", "x" * 1000, "dtd_" + "A" * 40, "ü@é"):
        assert sign_in(login).status_code == 200, login


def test_login_keeps_the_password_nowhere(ada: User, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        sign_in(ada.username, PASSWORD)
        sign_in(PASSWORD, PASSWORD)  # typed into the wrong field
        wrong = sign_in(ada.username, f"{PASSWORD}!")
    assert PASSWORD not in wrong.content.decode()
    assert PASSWORD not in caplog.text
    assert PASSWORD not in str([each.get_decoded() for each in Session.objects.all()])
    assert PASSWORD not in str(whole_database())
    tried = [each.person for each in entries(Action.LOGIN, Action.LOGIN_FAILED)]
    assert tried == [ada.username, "", ada.username]


def test_login_cookies_are_kept_from_scripts_and_other_sites(ada: User, settings: Any) -> None:
    settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = settings.HTTPS_ONLY = True
    cookies = sign_in(ada.username, PASSWORD).cookies
    assert set(cookies) == {"sessionid", "csrftoken", "known_browser"}
    for cookie in cookies.values():
        assert cookie["secure"]
        assert cookie["httponly"]
        assert cookie["samesite"] == "Lax"
    assert cookies["sessionid"]["max-age"] in range(60 * 60 - 60, 60 * 60)
