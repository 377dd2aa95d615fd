"""Each entry that is made within a request says where it came from, whatever it is about."""

import os
import pwd

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import Client, RequestFactory

from audit.models import AuditEntry
from config.request_context import actor, client_info, current_request
from tests.apikeys.test_admin_keys import create, page
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import Server

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"


def test_client_info_is_recorded_when_an_admin_changes_keys(acme: Tenant) -> None:
    last = AuditEntry.objects.latest("id").pk
    client = Client(headers={"User-Agent": FIREFOX}, REMOTE_ADDR="203.0.113.9")
    client.force_login(acme.admin)
    create(client)
    client.post(page(acme.key, "revoke"), {"confirmed": "yes"})
    client.post(page(acme.key, "delete"), {"confirmed": "yes"})
    entries = AuditEntry.objects.filter(pk__gt=last).order_by("id")
    assert list(entries.values_list("action", "address", "user_agent")) == [
        (action, "203.0.113.9", FIREFOX) for action in ("key.created", "key.revoked", "key.deleted")
    ]


def test_actor_is_the_user_who_is_signed_in(acme: Tenant) -> None:
    request = RequestFactory().get("/")
    token = current_request.set(request)
    assert actor() == ""  # the API has no users
    for user, login in ((acme.admin, acme.admin.username), (AnonymousUser(), "")):
        request.user = user
        assert actor() == login
    current_request.reset(token)


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["/srv/manage.py", "issue_key", "secret"], "manage.py issue_key"),
        (["manage.py"], "manage.py"),
        (["/usr/bin/tool", "secret"], "tool"),
        ([""], ""),
    ],
)
def test_actor_outside_of_a_request_is_the_system_s_user_and_the_command(
    monkeypatch: pytest.MonkeyPatch, words: list[str], command: str
) -> None:
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.delenv("SUDO_USER", raising=False)
    me = pwd.getpwuid(os.getuid()).pw_name
    assert actor() == f"{me} ({command})"
    for claimed, quoted in (
        ("petra", "'petra'"),
        ("a)\udce9\n", "'a)\\udce9\\n'"),
        ("x" * 99, "'xxx"),
    ):
        monkeypatch.setenv("SUDO_USER", claimed)
        assert actor().startswith(f"{me} ({command}, sudo says {quoted}")
        assert len(actor()) < 120


def test_actor_is_a_number_where_the_system_has_no_name_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("os.getuid", lambda: 4_000_000)
    monkeypatch.delenv("SUDO_USER", raising=False)
    assert actor().startswith("4000000 (")


def test_client_info_is_empty_outside_of_a_request(acme: Tenant) -> None:
    acme.get("/me", user_agent=FIREFOX)
    assert client_info() == ("", "")
    # The cast's key was issued on no request.
    entry = AuditEntry.objects.get(action="key.created")
    assert (entry.address, entry.user_agent, entry.request_id) == ("", "", "")


@pytest.mark.parametrize("order", [1, -1])
def test_client_address_is_not_chosen_by_a_header_with_underscores(
    front: Server, acme: Tenant, order: int
) -> None:
    document = factories.document(acme.workspace)
    forged = [b"X-Forwarded-For: 1.1.1.1", b"X_Forwarded_For: 6.6.6.6"][::order]
    request = [
        f"GET /api/v1/documents/{document.id}/download HTTP/1.1".encode(),
        b"Host: localhost",
        b"Connection: close",
        f"Authorization: {acme.bearer}".encode(),
        *forged,
    ]
    assert front.raw(b"\r\n".join([*request, b"", b""])).startswith(b"HTTP/1.1 200 ")
    entry = AuditEntry.objects.get(action="document.downloaded")
    assert entry.address == HOST
