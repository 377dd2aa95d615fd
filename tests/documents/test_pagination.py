"""Cursor pagination: every document once, whatever happens meanwhile; a cursor cannot be made."""

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from django.core.signing import Signer
from django.test import override_settings

from config.api.cursors import decode_cursor
from config.api.errors import InvalidParameter
from documents.api.documents import DocumentPosition
from documents.api.pagination import CURSOR_EXPECTED
from documents.models import Document
from tests.support import factories
from tests.support.cast import pages
from tests.support.factories import Tenant, at

# Three moments that all documents share.
MOMENTS = [at("2026-03-01 00:00:00"), at("2026-03-01 00:00:00.000001"), at("2026-03-02 00:00:00")]


def page(tenant: Tenant, cursor: str | None, limit: int, **filters: str) -> tuple[list[str], str]:
    """The ids of a page, and its nextCursor."""
    query = "".join(f"&{name}={value}" for name, value in filters.items())
    query += f"&cursor={quote(cursor)}" if cursor else ""
    response = tenant.get(f"/documents?limit={limit}{query}")
    assert response.status == 200, response
    body = response.json()
    return [document["id"] for document in body["data"]], body["nextCursor"]


def walk(
    tenant: Tenant, limit: int, between: Callable[[list[str]], None] | None = None, **filters: str
) -> list[str]:
    """The ids of all pages; `between` is called with those so far, after each page but the last."""
    seen: list[str] = []
    for page in pages(tenant, f"/documents?{urlencode({'limit': limit, **filters})}"):
        ids = [document["id"] for document in page.json()["data"]]
        assert len(ids) <= limit
        seen += ids
        if "link" in page.headers:
            assert len(ids) == limit
            if between:
                between(seen)
    return seen


@pytest.mark.parametrize(("limit", "count", "every"), [(1, 80, 4), (7, 200, 2), (100, 1000, 1)])
def test_pagination_shows_what_existed_at_its_beginning_once_while_others_come_and_go(
    acme: Tenant, limit: int, count: int, every: int
) -> None:
    """Some documents come and go after `every` so many pages."""
    documents = factories.listed(
        acme.workspace, count, created_at=lambda number: MOMENTS[number % 3]
    )
    newest_first = sorted(documents, key=lambda d: (d.created_at, d.id), reverse=True)
    gone: set[str] = set()
    calls = 0

    def come_and_go(seen: list[str]) -> None:
        """Deletes one that was seen and one that was not; inserts one into each moment."""
        nonlocal calls
        calls += 1
        if calls % every:
            return
        coming = [str(d.id) for d in newest_first if str(d.id) not in seen]
        chosen = [seen[-1], *coming[20:21]]
        gone.update(chosen)
        Document.objects.filter(pk__in=chosen).update(deleted_at=MOMENTS[0])
        for moment in (*MOMENTS, at("2026-03-03 00:00:00")):
            factories.listed(acme.workspace, 1, created_at=moment, title="New")

    seen = walk(acme, limit, come_and_go)
    assert len(gone) >= 16
    assert len(seen) == len(set(seen))
    stood = [str(d.id) for d in newest_first]
    assert set(stood) - set(seen) <= gone
    assert [id for id in seen if id in set(stood)] == [id for id in stood if id in set(seen)]
    new = Document.objects.filter(title="New", created_at=at("2026-03-03 00:00:00"))
    assert new.exists()
    assert not set(seen) & {str(id) for id in new.values_list("id", flat=True)}


def test_pagination_with_a_filter_misses_only_what_changes_before_its_page(acme: Tenant) -> None:
    """As the description of `list_documents` says."""
    documents = factories.listed(
        acme.workspace, 6, status="DRAFT", created_at=lambda number: at(f"2026-03-0{9 - number}")
    )
    other = factories.listed(
        acme.workspace, 1, status="SENT", created_at=lambda number: at("2026-03-10")
    )

    def change(seen: list[str]) -> None:
        """One that was seen and one that was not leave the filter; one before them enters it."""
        changed = [documents[0].pk, documents[4].pk]
        Document.objects.filter(pk__in=changed).update(status="CANCELLED")
        Document.objects.filter(pk=other[0].pk).update(status="DRAFT")

    seen = walk(acme, 2, change, status="DRAFT")
    assert seen == [str(document.pk) for document in documents if document != documents[4]]


def test_pagination_says_that_an_exactly_full_last_page_is_the_last(acme: Tenant) -> None:
    for count in (7, 14):
        factories.listed(acme.workspace, 7)
        assert len(walk(acme, 7)) == count
        assert (page(acme, None, 7)[1] is None) == (count == 7)


def test_pagination_works_for_the_earliest_and_the_latest_times(acme: Tenant) -> None:
    moments = [
        at("9999-12-31 23:59:59.999999"),
        at("1969-12-31 23:59:59.5"),
        at("0001-01-01 00:00:00"),
    ]
    documents = factories.listed(acme.workspace, 3, created_at=lambda number: moments[number])
    assert walk(acme, 1) == [str(document.id) for document in documents]


@pytest.fixture
def cursor(acme: Tenant) -> str:
    factories.listed(acme.workspace, 3, status="DRAFT")
    _, cursor = page(acme, None, 1)
    assert len(page(acme, cursor, 100)[0]) == 2
    return cursor


def refused(tenant: Tenant, cursor: str, query: str = "") -> bool:
    """Whether the cursor is a 400 that says what the parameter must be."""
    response = tenant.get(f"/documents?cursor={quote(cursor, safe='')}{query}")
    if response.status != 400:
        return False
    assert response.error == InvalidParameter("cursor", CURSOR_EXPECTED).detail
    return True


def test_cursor_that_is_changed_truncated_or_written_in_another_way_is_400(
    acme: Tenant, cursor: str
) -> None:
    scope = (f"documents:{acme.workspace.id}:", "cursor", "")
    for place, character in enumerate(cursor):
        other = "B" if character == "A" else "A"
        texts = (cursor[:place] + other + cursor[place + 1 :], cursor[:place], cursor[place + 1 :])
        for text in texts:
            with pytest.raises(InvalidParameter):
                decode_cursor(text, DocumentPosition, *scope)
    assert decode_cursor(cursor, DocumentPosition, *scope)
    encoded = base64.urlsafe_b64encode(cursor.encode()).decode()
    around = (f" {cursor}", f"{cursor} ", f"{cursor}=", f"{cursor}\0", f"{cursor}.{cursor}")
    others = (cursor[:-1], cursor.swapcase(), f"{cursor}%00", encoded, "x", ".", "a" * 10_000)
    for text in (*around, *others, "é€😀", "2026-03-01T00:00:00Z"):
        assert refused(acme, text), text


def test_cursor_of_another_workspace_filter_or_secret_is_400(
    acme: Tenant, umbrella: Tenant, cursor: str
) -> None:
    factories.listed(umbrella.workspace, 3)
    assert refused(umbrella, cursor)
    assert refused(acme, cursor, "&status=DRAFT")
    _, filtered = page(acme, None, 1, status="DRAFT")
    assert len(page(acme, filtered, 1, status="DRAFT")[0]) == 1
    assert refused(acme, filtered)
    assert refused(acme, filtered, "&status=SENT")
    position = [MOMENTS[0].isoformat(), str(acme.workspace.id)]
    with override_settings(SECRET_KEY="another"):
        forged = signed(acme, position)
    assert refused(acme, forged)
    ours = signed(acme, position)
    assert not refused(acme, ours)
    assert quote(ours, safe="") == ours


MALFORMED: list[Any] = [
    *("", None, 1, {}, [], [[]], 10**30, float("nan"), "é\0", [["deep"] * 100] * 100),
    ["2026-03-01T00:00:00Z"],
    ["2026-03-01T00:00:00Z", "x"],
    ["2026-03-01T00:00:00", str(factories.uid(1))],  # no offset
    ["99999-01-01T00:00:00Z", str(factories.uid(1))],
    [1, 2, "2026-03-01T00:00:00Z", 3],  # of the events
]


def signed(tenant: Tenant, value: Any) -> str:
    return Signer(salt=f"documents:{tenant.workspace.id}:", sep=".").sign_object(value)


@pytest.mark.parametrize("value", MALFORMED, ids=lambda value: json.dumps(value)[:40])
def test_cursor_with_a_valid_signature_and_no_position_is_400(acme: Tenant, value: Any) -> None:
    assert refused(acme, signed(acme, value))


@pytest.mark.parametrize("query", ["", "?limit=3", "?status=DRAFT&limit=2", "?limit=2&other=1"])
def test_link_leads_to_the_next_page_until_the_last(acme: Tenant, query: str) -> None:
    factories.listed(acme.workspace, 30, status=lambda n: ("SENT", "DRAFT")[n % 2])
    wanted = acme.get(f"/documents?limit=100{'&status=DRAFT' if 'status' in query else ''}").json()
    asked = {"limit": ["25"]} | parse_qs(query[1:])
    asked.pop("other", None)
    seen = []
    for page in pages(acme, f"/documents{query}"):
        body = page.json()
        seen += body["data"]
        if link := page.headers.get("link"):
            sent = parse_qs(urlsplit(link.partition(">")[0]).query)
            assert sent == asked | {"cursor": [body["nextCursor"]]}
    assert seen == wanted["data"]
    for path in ("/me", "/documents?limit=0"):
        assert "link" not in acme.get(path).headers
