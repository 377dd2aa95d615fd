"""Who acts, and the address that a request came from, whatever proxies and clients write."""

import os
import pwd
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.test import RequestFactory

from audit.models import AuditEntry
from config.request.context import actor, current_request
from config.request.middleware import client_address
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.nginx import request
from tests.support.proxy import HOST
from tests.support.server import Server


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
        (["/srv/manage.py", "issue_key", "secret"], "command issue_key"),
        (["manage.py"], "command"),
        (["/usr/bin/tool", "secret"], "command"),
        ([""], "command"),
    ],
)
def test_actor_outside_of_a_request_is_the_system_s_user_and_the_command(
    monkeypatch: pytest.MonkeyPatch, words: list[str], command: str
) -> None:
    monkeypatch.setattr("sys.argv", words)
    monkeypatch.delenv("SUDO_USER", raising=False)
    me = pwd.getpwuid(os.getuid()).pw_name
    assert actor() == f"{me}, by {command}"
    for claimed, quoted in (
        ("petra", "'petra'"),
        ("a)\udce9\n", "'a)\\udce9\\n'"),
        ("x" * 99, "'xxx"),
    ):
        monkeypatch.setenv("SUDO_USER", claimed)
        assert actor().startswith(f"{me}, by {command}, sudo says {quoted}")
        assert len(actor()) < 120


@pytest.mark.parametrize("order", [1, -1])
def test_client_address_is_not_chosen_by_a_header_with_underscores(
    front: Server, acme: Tenant, order: int
) -> None:
    document = factories.document(acme.workspace)
    forged = ["X-Forwarded-For: 1.1.1.1", "X_Forwarded_For: 6.6.6.6"][::order]
    path = f"/api/v1/documents/{document.id}/download"
    sent = request(path, f"Authorization: {acme.bearer}", *forged)
    assert front.raw(sent).startswith(b"HTTP/1.1 200 ")
    entry = AuditEntry.objects.get(action="document.downloaded")
    assert entry.address == HOST


V4, V6, PROXY = "203.0.113.7", "2001:db8::7", "10.0.0.5"
FORWARDED = {  # what proxies write, and with which this is the number of ours
    V4: V4,
    f"  {V4}\t": V4,
    f"1.1.1.1, {V4}": V4,  # the client has written the first one
    f"1.1.1.1, , {V4}": V4,
    V6: V6,
    "2001:0DB8:0:0::7": V6,
    f"{V6}%eth0": V6,
    f"::ffff:{V4}": V4,
    "unknown": PROXY,
    "": PROXY,
    "203.0.113.7.1": PROXY,
    f"{V4}:4711": PROXY,
    "x" * 10_000: PROXY,
    "203.0.113.٧": PROXY,
    "\0": PROXY,
}


@pytest.mark.parametrize("sent", FORWARDED)
def test_client_address_is_found_however_a_proxy_writes_it(settings: Any, sent: str) -> None:
    settings.TRUSTED_PROXIES = 1
    factory = RequestFactory(REMOTE_ADDR=f"::ffff:{PROXY}")
    request = factory.get("/", headers={"X-Forwarded-For": sent})
    assert client_address(request) == FORWARDED[sent]


@pytest.mark.parametrize(
    ("trusted", "sent", "address"),
    [
        (0, V4, PROXY),
        (2, V4, PROXY),  # not all of our proxies have added to it
        (2, f"{V4}, 10.0.0.4", V4),
        (2, "1.1.1.1, unknown, 10.0.0.4", PROXY),
    ],
)
def test_client_address_is_the_entry_of_the_first_of_our_proxies(
    settings: Any, trusted: int, sent: str, address: str
) -> None:
    settings.TRUSTED_PROXIES = trusted
    factory = RequestFactory(REMOTE_ADDR=PROXY)
    assert client_address(factory.get("/", headers={"X-Forwarded-For": sent})) == address


@pytest.mark.parametrize("sent", ["", "unix:/run/documents-api/1.sock", "x" * 100])
def test_client_address_is_none_if_the_server_knows_none(sent: str) -> None:
    assert client_address(RequestFactory(REMOTE_ADDR=sent).get("/")) == ""


OTHER_HEADERS = {  # that proxies add, or their clients
    "Forwarded": f"for={V4};proto=http;host=evil.example, for=unknown",
    "X-Real-IP": "1.1.1.1",
    "X-Forwarded-Host": "evil.example",
    "X-Forwarded-Proto": "https, http",
    "X-Original-URL": "/admin/",
    "X-Request-Id": "x" * 5000,
}


def test_other_headers_of_proxies_change_nothing(front: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    path = f"/documents/{document.id}/download"
    for name, value in OTHER_HEADERS.items():
        response = front.get(path, acme.raw, **{name.replace("-", "_"): value})
        assert (response.status, len(response.headers["request-id"])) == (200, 32), name
    entries = AuditEntry.objects.filter(action="document.downloaded")
    assert set(entries.values_list("address", flat=True)) == {HOST}
    assert entries.count() == len(OTHER_HEADERS)
