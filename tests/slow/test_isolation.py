"""What one client does never stops the others."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlencode

import pytest
from config.runtime.admission import class_of
from config.runtime.slots import FairSemaphore, SignedIn
from django.conf import settings
from django.contrib.auth.hashers import MD5PasswordHasher
from django.contrib.auth.models import User
from django.test import Client, RequestFactory
from django.urls import reverse

from audit.models import AuditEntry
from config.runtime import slots
from documents import storage
from documents.models import Document
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.seals import KEY, seal
from tests.support.server import Server, eventually, running
from tests.support.slow_clients import SIGN_IN_FORM, SlowClients, Tireless, download_request
from tests.support.staff import HISTORY, member, signed_in, support
from workspaces.models import Session

MANY = 200


@pytest.fixture
def clients(server: Server) -> Iterator[SlowClients]:
    with SlowClients(server.port) as slow:
        yield slow


@pytest.fixture
def large(acme: Tenant) -> Iterator[Document]:
    """A document that no socket's buffers hold."""
    document = factories.document(acme.workspace, content=bytes(30_000_000))
    assert document.original is not None
    key = document.original.object_key
    yield document
    storage.delete([key])


def start_downloads(clients: SlowClients, *requests: bytes) -> None:
    """Starts `MANY` downloads; a few at a time, since all at once would be refused as a crowd."""
    for number in range(MANY):
        clients.read(requests[number % len(requests)])
        if number % 10 == 9:
            wait_for_statuses(clients, number + 1)


def wait_for_statuses(clients: SlowClients, count: int) -> None:
    assert eventually(lambda: len(clients.statuses()) == count)


def assert_undisturbed(server: Server, tenant: Tenant) -> None:
    """Each request is answered within a second."""
    for number in range(40):
        started = time.monotonic()
        path = ("/me", "/documents")[number % 2]
        assert server.get(path, tenant.raw).status == 200
        assert time.monotonic() - started < 1


def test_slow_downloads_stop_nobody(
    server: Server, clients: SlowClients, acme: Tenant, large: Document, umbrella: Tenant
) -> None:
    second = factories.issue(acme.workspace, "Second", acme.admin)[1]
    start_downloads(
        clients, download_request(large.id, acme.raw), download_request(large.id, second)
    )
    assert_undisturbed(server, umbrella)
    assert clients.statuses().count(200) == settings.STREAMS
    refused = next(bytes(each) for each in clients.received if b" 503 " in each[:20])
    assert b'{"error":"Too many downloads are in progress. Try again in 5 seconds."}' in refused
    assert b"retry-after: 5\r\n" in refused.lower()


def test_one_key_has_at_most_half_of_the_downloads(
    server: Server, clients: SlowClients, acme: Tenant, large: Document, umbrella: Tenant
) -> None:
    start_downloads(clients, download_request(large.id, acme.raw))
    assert clients.statuses().count(200) == settings.STREAMS // 2
    other = factories.document(umbrella.workspace)
    assert server.get(f"/documents/{other.id}/download", umbrella.raw).status == 200


def test_slow_downloads_and_slow_forms_together_stop_nobody(
    server: Server, clients: SlowClients, acme: Tenant, large: Document, umbrella: Tenant
) -> None:
    for _ in range(MANY):
        clients.send(SIGN_IN_FORM)
        clients.read(download_request(large.id, acme.raw))
    wait_for_statuses(clients, MANY)
    assert_undisturbed(server, umbrella)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("admin:login", ()),
        ("admin:password_reset_confirm", ("MQ", "set-password")),
        ("admin:confirm_password", ()),
        ("admin:password_change", ()),
        ("invitation", ()),
    ],
)
def test_form_that_hashes_a_password_takes_no_slot_of_the_pages(
    rf: RequestFactory, name: str, arguments: tuple[str, ...]
) -> None:
    path = reverse(name, args=arguments)
    assert class_of(rf.post(path)) == "password"
    assert class_of(rf.get(path)) == "page"


def test_passwords_are_hashed_without_a_slot_of_the_pages(acme: Tenant, settings: Any) -> None:
    settings.PASSWORD_HASHERS = [f"{__name__}.{ObservedHasher.__name__}"]
    ada = acme.admin
    ada.set_password("x")
    ada.save()
    ObservedHasher.seen.clear()
    client, form = Client(), {"username": ada.username, "password": "wrong"}
    for login in (ada.username, "nobody@acme.example"):
        client.post(reverse("admin:login"), form | {"username": login})
    assert ObservedHasher.seen == [(0, 1)] * 2
    client = signed_in(ada)
    client.post(reverse("admin:confirm_password"), {"confirm-password": "wrong"})
    client.post(reverse("admin:password_change"), {"old_password": "wrong"})
    assert ObservedHasher.seen == [(0, 1)] * 4


class ObservedHasher(MD5PasswordHasher):
    """Notes how many slots of the pages and of the passwords are held while it hashes."""

    seen: ClassVar[list[tuple[int, int]]] = []

    def encode(self, password: str, salt: str) -> str:
        self.seen.append((slots.SLOTS["page"].in_use, slots.SLOTS["password"].in_use))
        return super().encode(password, salt)


def test_password_without_a_turn_is_a_page_that_says_so(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = FairSemaphore(1, 0)
    full.acquire()
    monkeypatch.setitem(slots.SLOTS, "password", full)
    url = reverse("admin:login")
    response = Client().post(url, {"username": "ada@acme.example", "password": "secret"})
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert "a password that you have entered was not checked" in response.content.decode()
    assert Client().get(url).status_code == 200


def test_session_is_known_from_the_sign_in_on(acme: Tenant) -> None:
    client = Client()
    acme.admin.set_password("correct horse battery staple")
    acme.admin.save()
    form = {"username": acme.admin.username, "password": "correct horse battery staple"}
    assert client.post(reverse("admin:login"), form).status_code == 302
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert slots.TENANTS.get(session) == SignedIn(acme.admin.pk)


def test_session_is_known_as_long_as_its_user_is_signed_in(acme: Tenant) -> None:
    client = signed_in(acme.admin)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    assert slots.TENANTS.get(session) is None
    client.get(HISTORY)
    assert slots.TENANTS.get(session) == SignedIn(acme.admin.pk)
    Session.objects.all().delete()
    client.get(HISTORY)
    assert slots.TENANTS.get(session) is None


def cookie_of(user: User) -> str:
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={signed_in(user).cookies[name].value}"


def guess(clients: Tireless, address: str) -> None:
    """Enters wrong passwords from an address, one after the other."""
    token = "a" * 32
    form = {"username": f"{address}@acme.example", "password": "x", "csrfmiddlewaretoken": token}
    clients.send(
        "POST",
        reverse("admin:login"),
        urlencode(form),
        {
            "Cookie": f"csrftoken={token}",
            "Content-Type": "application/x-www-form-urlencoded",
            "X-Forwarded-For": address,
        },
    )


def test_wrong_passwords_and_evidence_stop_no_page(
    transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    """Of many addresses, and of two admins who export at the same time, again and again."""
    document = factories.listed(acme.workspace, 1)[0]
    facts = {"workspace_id": acme.workspace.id, "document_id": document.id}
    AuditEntry.objects.bulk_create(
        AuditEntry(action="document.viewed", **facts) for _ in range(5000)
    )
    seal()
    evidence = reverse("admin:documents_document_evidence", args=[document.id])
    admins = [acme.admin, member(acme.workspace, "ada@acme.example", "ADMIN")]
    sam = cookie_of(support())
    variables = {"TRUSTED_PROXIES": "1", "AUDIT_PUBLIC_KEYS": str(KEY.public)}
    with running(Server(tmp_path, **variables)) as server, Tireless(server.port) as clients:
        for number in range(12):
            guess(clients, f"192.0.2.{number}")
        for number, admin in enumerate(admins * 2):
            address = f"203.0.113.{number}"
            headers = {"Cookie": cookie_of(admin), "X-Forwarded-For": address}
            clients.send("GET", evidence, None, headers)
        assert eventually(lambda: clients.statuses.total() > 4)
        for _ in range(10):
            for path, cookie in {HISTORY: sam, reverse("admin:login"): ""}.items():
                started = time.monotonic()
                response = server.request(path, Cookie=cookie, X_Forwarded_For="198.51.100.1")
                assert response.status == 200
                assert time.monotonic() - started < 2  # the promise
