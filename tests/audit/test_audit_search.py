"""What the filters of the audit log find, and what its search recognises in what people paste."""

from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from audit.models import Action, AuditEntry
from tests.support.factories import Tenant, at, uid
from tests.support.staff import HISTORY, happened, of, seen, shown, signed_in

DOCUMENT = "92fe0e65-1111-4222-8333-444455556666"
REQUEST = "ffd9a011" + "ab" * 12


@pytest.fixture
def made(acme: Tenant, umbrella: Tenant) -> dict[str, AuditEntry]:
    """One entry of each kind that a search tells apart, by a name."""
    facts: dict[str, dict[str, Any]] = {
        "download": of(
            acme.workspace,
            document_id=DOCUMENT,
            document_title="Lease of the flat",
            key_id=uid(3, 2),
            key_name="Nightly copy",
            key_prefix="dtd_abcd1234",
            address="203.0.113.9",
            request_id=REQUEST,
        ),
        "six": of(
            umbrella.workspace,
            document_id=uid(8, 3),
            document_title="Leasing plan",
            key_name="night shift",
            address="2001:db8::9",
        ),
        "plan": of(umbrella.workspace, action=Action.PLAN_CHANGED, person="olga@ops.example"),
        "member": of(
            umbrella.workspace, action=Action.MEMBER_ADDED, member="Olaf@umbrella.example"
        ),
    }
    return {
        name: happened(created_at=at(f"2026-02-{10 + number} 14:05:33"), **fields)[0]
        for number, (name, fields) in enumerate(facts.items())
    }


SEARCHES = [
    # Ids, wherever they are.
    (DOCUMENT, "download", "Document id"),
    (DOCUMENT.replace("-", ""), "download", "Document id"),
    (
        f"GET https://api.example.com/api/v1/documents/{DOCUMENT.upper()}/download?type=signed",
        "download",
        "Document id",
    ),
    (f"Who took {DOCUMENT}? And {uid(8, 3)}?", "six download", "Document id"),
    (f"key {uid(3, 2)} misbehaves", "download", "Key id"),
    # Requests.
    (f"Request-Id: {REQUEST.upper()}", "download", "Request id"),
    ("ffd9a011…", "download", "Beginning of a request id"),
    # Addresses.
    ("from 203.0.113.9, today", "download", "Address"),
    ("2001:0DB8:0:0::9", "six", "Address"),
    ("203.0.113", "", ""),
    # Whole logins, in any case.
    ("olga@ops.exa", "", ""),
    ("Olga <olga@ops.example>", "plan", "Login"),
    ("OLAF@umbrella.example", "member", "Login"),
    ("olaf", "", ""),
    # Times.
    ("2026-02-11", "six", "Day"),
    ("2026-02-11T14:05:33Z", "six", "Second"),
    ("2026-02-11 14:06", "", ""),
    # Nothing that could be found.
    ("%", "", ""),
    ("\U0010ffff", "", ""),
]


def test_search_recognises_what_people_paste(made: dict[str, AuditEntry], sam: Client) -> None:
    names = {entry.id: name for name, entry in made.items()}
    for text, found, recognised in SEARCHES:
        page = shown(sam, f"?until=2026-02-28&q={quote(text)}")
        assert [names[entry.id] for entry in page.result_list] == found.split(), text
        if found:
            assert page.recognised_text.startswith(recognised)
    html = sam.get(f"{HISTORY}?q={DOCUMENT}").content.decode()
    assert 'role="status">Document id' in html


FILTERS = [
    (f"workspace_id__exact={uid(1, 1)}", "download"),
    ("action__exact=member.added", "member"),
    ("since=2026-02-12", "member plan"),
    ("since=2026-02-11&until=2026-02-11", "six"),
    (f"key_id__exact={uid(3, 2)}", "download"),
    (f"workspace_id__exact={uid(2, 1)}&action__exact=member.added", "member"),
    ("q=olga@ops.example&action__exact=member.added", ""),
    ("q=' OR 1=1 --", ""),
]


def test_filters_narrow_the_list(made: dict[str, AuditEntry], sam: Client) -> None:
    names = {entry.id: name for name, entry in made.items()}
    for query, found in FILTERS:
        until = "" if "until" in query else "until=2026-02-28&"
        assert [names[id] for id in seen(sam, f"?{until}{query}")] == found.split(), query


def test_search_of_an_admin_looks_only_at_the_own_workspaces(
    made: dict[str, AuditEntry], acme: Tenant, umbrella: Tenant, sam: Client
) -> None:
    for text in (DOCUMENT, "203.0.113.9", "olga@ops.example", "olaf@umbrella.example", REQUEST):
        of_sam = set(seen(sam, f"?q={text}"))
        for tenant in (acme, umbrella):
            own = {e.id for e in AuditEntry.objects.filter(workspace_id=tenant.workspace.id)}
            page = shown(signed_in(tenant.admin), f"?q={text}")
            assert {entry.id for entry in page.result_list} == of_sam & own, text
            if not page.result_list:
                assert page.empty_text.startswith("Nothing matches.")
