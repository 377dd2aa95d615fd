"""The password is asked for again before something sensitive, if the sign-in is not recent."""

import re
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse
from django_otp.plugins.otp_totp.models import TOTPDevice

from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from audit.record import record
from config.console.reauthentication import password_needed
from events.webhooks.models import Endpoint
from tests.support import factories, staff, webhooks
from tests.support.factories import Tenant
from tests.support.staff import NEW_KEY, PASSWORD, START, give_password
from workspaces.accounts.throttle import SIGNED_IN
from workspaces.models import Invitation, Membership, Workspace

pytestmark = pytest.mark.usefixtures("still_windows")

CONFIRM = reverse("admin:confirm_password")
SENSITIVE = "/admin/apikeys/apikey/add/?workspace=1"


@pytest.fixture
def ada(acme: Tenant) -> User:
    return give_password(acme.admin)


@pytest.fixture
def client(ada: User) -> Client:
    """A session that is older than 15 minutes."""
    return staff.not_recent(staff.signed_in(ada))


def asked(client: Client, method: str = "GET") -> str:
    """Where a sensitive page would redirect this client to; "" if it would not."""
    request = RequestFactory().generic(method, SENSITIVE)
    request.session = client.session
    response = password_needed(request)
    return response["Location"] if response else ""


def entries() -> list[tuple[str, str]]:
    found = AuditEntry.objects.filter(action__contains="password_").order_by("id")
    return [each for each in found.values_list("action", "person") if "changed" not in each[0]]


def test_old_sign_in_leads_to_the_page_that_asks_again_and_back(client: Client) -> None:
    url = asked(client)
    assert url.startswith(f"{CONFIRM}?next=%2Fadmin%2Fapikeys%2Fapikey%2Fadd%2F%3Fworkspace%3D1")
    response = client.post(url, {"confirm-password": PASSWORD})
    assert response.status_code == 302
    assert response["Location"] == SENSITIVE
    assert asked(client) == ""
    assert PASSWORD not in str(client.session.items())
    assert entries() == [(Action.PASSWORD_CONFIRMED, "admin@acme.example")]


def test_no_key_or_webhook_changes_without_a_recent_sign_in(client: Client, acme: Tenant) -> None:
    hook = webhooks.endpoint(acme)
    urls = [
        NEW_KEY,
        reverse("admin:apikeys_apikey_roll", args=[acme.key.pk]),
        reverse("admin:webhooks_endpoint_add"),
        *(
            reverse(f"admin:webhooks_endpoint_{name}", args=[hook.pk])
            for name in ("edit", "roll", "switch_off", "delete")
        ),
    ]
    before = everything()
    for url in urls:
        for method in (client.get, client.post):
            response: Any = method(url, {"name": "CRM sync", "url": "https://other.example/"})
            assert response["Location"].startswith(f"{CONFIRM}?next=")
    assert everything() == before
    client.post(CONFIRM, {"confirm-password": PASSWORD})
    assert {client.get(url).status_code for url in urls} == {200}


def hidden(response: Any) -> dict[str, str]:
    """The fields that a page sends again."""
    fields = re.findall(r'type="hidden" name="([^"]+)" value="([^"]*)"', response.content.decode())
    return {name: unescape(value) for name, value in fields if name != "csrfmiddlewaretoken"}


def test_form_that_was_sent_too_late_is_sent_after_the_password(
    client: Client, acme: Tenant
) -> None:
    url = NEW_KEY
    opened = hidden(staff.signed_in(acme.admin).get(url))
    opened |= {"name": "CRM <sync>", "expires": "90"}
    form = {**opened, "some-token": "x", "other": acme.raw}
    # With 307, a browser sends its fields to the next page.
    asking = client.post(url, form)
    assert asking.status_code == 307
    wrong = {"confirm-password": "wrong"}
    page = client.post(asking["Location"], form)
    again = client.post(asking["Location"], hidden(page) | wrong)
    assert hidden(again) == hidden(page) == {"waiting": "yes", **opened}
    sent = hidden(again) | {"confirm-password": PASSWORD}
    back = client.post(asking["Location"], sent)
    assert (back.status_code, back["Location"]) == (307, url)
    client.post(back["Location"], sent)
    assert ApiKey.objects.filter(name="CRM <sync>").count() == 1


def everything() -> list[Any]:
    """What a page of keys, webhooks, accounts or workspaces could change."""
    of_accounts = (User, User.groups.through, Workspace, Membership, Invitation)
    tables: tuple[Any, ...] = (*of_accounts, TOTPDevice, ApiKey, Endpoint, AuditEntry)
    return [list(table._default_manager.order_by("pk").values()) for table in tables]


def test_nothing_changes_without_a_recent_sign_in(acme: Tenant) -> None:
    olga = staff.operator()
    desk = staff.not_recent(staff.signed_in(olga))
    bob = staff.member(acme.workspace, "bob@acme.example")
    TOTPDevice.objects.bulk_create(TOTPDevice(user=each, name="app") for each in (olga, bob))
    frozen = Workspace.objects.create(name="Frozen", plan="PRO", suspended=True)
    promoted = {"chosen": str(Membership.objects.get(user=bob).pk), "do": "promote"}
    names = {"email": bob.email, "first_name": "", "last_name": ""}
    acts: list[tuple[str, dict[str, str]]] = [
        ("auth_user_change", {**names, "email": "olga+bob@operators.example"}),
        ("auth_user_make_operator", {"reason": "x", "typed": bob.username}),
        ("auth_user_make_support", {"reason": "x", "typed": bob.username}),
        ("auth_user_activate", {"activate": "yes"}),
        ("auth_user_deactivate", {"deactivate": "yes"}),
        ("auth_user_password", {"confirm": "yes"}),
        ("auth_user_add", {"email": "eve@x.example"}),
        ("workspaces_workspace_add", {"name": "New", "plan": "PRO"}),
        ("workspaces_workspace_suspend", {"reason": "unpaid"}),
        ("workspaces_workspace_reinstate", {"reason": "paid"}),
        ("workspaces_workspace_plan", {"plan": "FREE", "reason": "x"}),
        ("workspaces_workspace_invite", {"email": "eve@x.example"}),
        ("workspaces_workspace_members", promoted),
        ("workspaces_workspace_revoke_invitation", {"chosen": "1"}),
        ("security_app", {"start": "yes"}),
        ("security_codes", {}),
        ("security_remove", {"confirmed": "yes"}),
    ]
    before = everything()
    for name, form in acts:
        of = {"auth": bob.pk, "workspaces": acme.workspace.pk}.get(name.partition("_")[0])
        of = frozen.pk if name.endswith("reinstate") else of
        pk = [] if of is None or name.endswith("_add") else [of]
        url = reverse(f"admin:{name}", args=pk)
        response: Any = desk.post(url, form)
        expected = f"{CONFIRM}?{urlencode({'next': url})}"
        assert response.headers.get("Location") == expected, name
        if name != "auth_user_change":  # it is to be read too
            assert desk.get(url).headers["Location"].startswith(CONFIRM), name
    assert everything() == before


def test_no_file_is_sent_without_a_recent_sign_in(client: Client, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    record(
        Action.DOCUMENT_VIEWED,
        by="sam@x.example",
        workspace=acme.workspace.snapshot(),
        document=document.snapshot(),
    )
    evidence = reverse("admin:documents_document_evidence", args=[document.pk])
    before = AuditEntry.objects.count()
    for url in (staff.EXPORT, evidence):
        response: Any = client.get(f"{url}?q=lease")
        assert response["Location"] == f"{CONFIRM}?{urlencode({'next': f'{url}?q=lease'})}"
    cut: Any = client.get(f"{staff.EXPORT}?q={acme.raw}")
    assert acme.raw not in cut["Location"]  # of a search for a key; the log keeps no such URL
    assert AuditEntry.objects.count() == before
    asks: Any = client.get(f"{staff.EXPORT}?q=lease")
    back: Any = client.post(asks["Location"], {"confirm-password": PASSWORD})
    file: Any = client.get(back["Location"])
    assert file["Content-Disposition"].startswith("attachment")
    assert AuditEntry.objects.latest("id").action == Action.LOG_EXPORTED


def test_page_that_asks_again_leads_to_no_other_site(client: Client) -> None:
    for url in ("https://evil.example/", "//evil.example", "javascript:alert(1)", "/\\evil.x", ""):
        response = client.post(CONFIRM, {"confirm-password": PASSWORD, "next": url})
        assert response["Location"] == START, url


def test_wrong_passwords_of_a_signed_in_user_have_one_limit_and_are_recorded(ada: User) -> None:
    client, change = staff.signed_in(ada), reverse("admin:password_change")
    new = {"new_password1": f"{PASSWORD} 2", "new_password2": f"{PASSWORD} 2"}
    for number in range(SIGNED_IN.attempts):
        url = CONFIRM if number % 2 else change
        response = client.post(url, {"confirm-password": "wrong", "old_password": "wrong", **new})
        assert response.status_code == 200
    for url in (CONFIRM, change):
        response = client.post(url, {"confirm-password": PASSWORD, "old_password": PASSWORD, **new})
        assert response.status_code == 429
        assert "This limits guessing" in response.content.decode()
        assert 1 <= int(response["Retry-After"]) <= 3600
    assert entries() == [(Action.PASSWORD_REFUSED, ada.username)] * SIGNED_IN.attempts
    ada.refresh_from_db()
    assert ada.check_password(PASSWORD)
