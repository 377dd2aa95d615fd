"""What the tests of several modules do with the cast: keys, documents, events, pages."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import HTTPConnection
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid4

import pytest
from django.contrib.admin import site
from django.db import connection, transaction
from django.db.models import Model
from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django_ratelimit import ALL
from django_ratelimit.core import get_usage

from apikeys.models import ApiKey
from apikeys.throttling import REQUESTS_PER_MINUTE, WINDOW, KeyThrottle
from audit.models import AuditEntry
from config.api.errors import TooManyRequests
from config.request.context import Notes
from documents.models import Document
from tests.support import factories
from tests.support.client import Response, forget_requests, golden
from tests.support.database import executed
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import PATIENCE, Server, eventually
from tests.support.staff import NEW_KEY, body


def entries(*actions: str, **fields: Any) -> list[AuditEntry]:
    """The entries of the audit log, of these actions or of all, oldest first."""
    found = AuditEntry.objects.filter(**fields).order_by("id")
    return list(found.filter(action__in=actions) if actions else found)


def downloads() -> list[AuditEntry]:
    """The entries of downloads, oldest first."""
    return entries("document.downloaded")


# --- Keys

# What ends a key.
ENDS: dict[str, Callable[[Tenant], object]] = {
    "revoked": lambda t: t.key.revoke(by=t.admin),
    "deleted": lambda t: t.key.delete_by(by=t.admin),
    "expired": lambda t: ApiKey.objects.filter(pk=t.key.pk).update(expires_at=Now()),
}


def left(key_id: UUID) -> int:
    """Seconds until the current window of a key ends."""
    usage = get_usage(None, group="x", key=lambda *_: str(key_id), rate="300/60s", method=ALL)
    return int(usage["time_left"]) + 1


def with_window(tenant: Tenant, least: int, most: int = WINDOW) -> Tenant:
    """The tenant with another key, whose current window ends in `least` to `most` seconds."""
    id = next(id for id in iter(uuid4, None) if least <= left(id) <= most)
    key, raw = factories.issue(tenant.workspace, "Windowed", tenant.admin, id=id)
    return Tenant(tenant.workspace, tenant.admin, key, raw)


def spend(tenant: Tenant, requests: int = REQUESTS_PER_MINUTE) -> Tenant:
    """The tenant, whose key has made so many requests, or all that it may.

    Only the throttle sees these requests.
    """
    request: Any = SimpleNamespace(auth=tenant.key, notes=Notes("", ""))
    for _ in range(requests):
        with suppress(TooManyRequests):
            KeyThrottle().allow_request(request, view=None)
    return tenant


def counted(tenant: Tenant, requests: int, least: int = 40, most: int = WINDOW) -> Tenant:
    """The tenant with a key that has made so many requests in its current window."""
    return spend(with_window(tenant, least, most), requests)


def used_up(tenant: Tenant) -> Tenant:
    return counted(tenant, REQUESTS_PER_MINUTE)


# --- Documents


@pytest.fixture
def lease(acme: Tenant) -> Document:
    return factories.document(
        acme.workspace, "COMPLETED", title="Lease agreement", file_name="Lease.pdf"
    )


def hardest_to_find(tenant: Tenant) -> Document:
    """A document that waits and has two words; a thousand newer drafts have one of these each."""
    factories.listed(
        tenant.workspace, 1200, status="DRAFT", title=lambda n: "Offer" if n % 2 else "Lease"
    )
    [document] = factories.listed(
        tenant.workspace, 1, title="Lease offer", created_at=factories.at("2026-03-01 00:00:00")
    )
    factories.recipient(document)
    return document


def path_of(document: Document, file_type: str | None = None) -> str:
    return f"/documents/{document.id}/download" + (f"?type={file_type}" if file_type else "")


def started(server: Server, tenant: Tenant, document: Document) -> HTTPConnection:
    """A download that has begun. Nothing of its body has been read."""
    client = HTTPConnection(HOST, server.port, timeout=PATIENCE)
    client.request("GET", f"/api/v1{path_of(document)}", headers={"Authorization": tenant.bearer})
    return client


def store_golden(tenant: Tenant) -> list[Document]:
    """Stores the documents of the golden list, not in the order in which it has them.

    One has a value in each field and a recipient of each role, one has nothing that can be missing.
    """

    def columns(value: dict[str, Any]) -> dict[str, Any]:
        """The fields of an object, by the names of their columns."""
        computed = ("progress", "recipients", "links")
        given = {name: field for name, field in value.items() if name not in computed}
        return {re.sub("[A-Z]", lambda m: f"_{m[0].lower()}", n): v for n, v in given.items()}

    documents = []
    for value in sorted(golden("documents")["data"], key=lambda value: str(value["title"])):
        documents.append(factories.document(tenant.workspace, **columns(value)))
        for each in reversed(value["recipients"]):
            factories.recipient(documents[-1], **columns(each))
    return documents


def pages(tenant: Tenant, path: str) -> Iterator[Response]:
    """The pages of a list, by the links to the next ones."""
    while path:
        forget_requests()  # reading them all takes less than a minute
        response = tenant.get(path)
        assert response.status == 200, response
        yield response
        link = re.fullmatch('</api/v1([^>]+)>; rel="next"', response.headers.get("link", ""))
        assert bool(link) == bool(response.json()["nextCursor"])
        path = link[1] if link else ""


def problem_with(value: str) -> str:
    """What is wrong with a parameter's value; `&` begins another one."""
    if "&" in value:
        return "is given more than once"
    return "is not valid" if value else "is empty"


# --- Events


def settled() -> bool:
    """Whether every transaction with an event has ended, and so has each that began before it.

    Other tests use the same PostgreSQL, and the feed waits for their transactions too.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT coalesce(max(transaction), 0)"
            " < pg_snapshot_xmin(pg_current_snapshot())::text::bigint FROM events_event"
        )
        return bool(cursor.fetchone()[0])


def feed_page(tenant: Tenant, after: str | None = None, **query: str) -> Any:
    query |= {"after": after} if after else {}
    text = "&".join(f"{name}={quote(value)}" for name, value in query.items())
    response = tenant.get(f"/events?{text}")
    assert response.status == 200, response
    return response.json()


def feed(tenant: Tenant, after: str | None = None, **query: str) -> list[tuple[str, str]]:
    """The events that follow, as (type, document id), over all pages."""
    assert eventually(settled)
    found: list[tuple[str, str]] = []
    while True:
        forget_requests()  # the rate limit is not the matter
        page = feed_page(tenant, after, **query)
        found += [(event["type"], event["data"]["id"]) for event in page["data"]]
        after = page["nextCursor"]
        if not page["data"]:
            return found


# --- Pages


def page_of(object: Model, name: str = "change") -> str:
    """The URL of an object's page; a row of a log is opened in its list."""
    options = object._meta
    if name == "change":
        section: Any = site.get_model_admin(type(object))
        return str(section.url_of(object))
    return reverse(f"admin:{options.app_label}_{options.model_name}_{name}", args=[object.pk])


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def form_of(html: str) -> dict[str, str]:
    """The hidden fields of a page's form, but for the CSRF token."""
    hidden = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', html)
    return {name: value for name, value in hidden if name != "csrfmiddlewaretoken"}


def create_key(client: Client, name: str = "CRM sync", **fields: str) -> Any:
    form = form_of(body(client.get(NEW_KEY)))
    return client.post(NEW_KEY, {**form, "name": name, "expires": "never", **fields})


def sent_until(error: type[Exception], response: Any) -> str:
    """What is sent of a file until it breaks off with this error."""
    parts: list[bytes] = []
    with pytest.raises(error):
        parts.extend(response)
    return b"".join(parts).decode()


def raw_of(response: Any) -> str:
    """The key, or the secret of a webhook, that the page shows once."""
    [raw] = re.findall(r'class="copyable secret"[^>]*>([^<]+)<', body(response))
    return str(raw)


# --- Statements


def statements(tenant: Tenant, path: str, method: str = "GET", status: int = 200) -> list[str]:
    with executed() as found:
        assert tenant.get(path, method).status == status
    return found


def plan(sql: str, *avoided: str) -> dict[str, Any]:
    """The statement's plan, which scans a whole table only where no index can be used.

    Tables as small as the tests' would be scanned or not depending on their statistics.

    Args:
        avoided: further methods of the planner that are the last resort.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        for method in ("seqscan", *avoided):
            cursor.execute(f"SET LOCAL enable_{method} = off")
        cursor.execute(f"EXPLAIN (FORMAT JSON) {sql}")
        [[found]] = cursor.fetchall()
        transaction.set_rollback(True)  # the settings are for this statement alone
    whole = json.loads(found) if isinstance(found, str) else found
    node: dict[str, Any] = whole[0]["Plan"]
    return node


def nodes(node: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield node
    for child in node.get("Plans", []):
        yield from nodes(child)


def indexes_of(sql: str) -> set[str]:
    """The indexes that the statement reads."""
    return {node["Index Name"] for node in nodes(plan(sql)) if "Index Name" in node}
