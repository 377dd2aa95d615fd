"""The audit log as CSV: what is filtered, whole, in batches, and safe in a spreadsheet."""

import csv
import io
import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from audit import admin as audit_admin
from audit import sending
from audit.models import COLUMNS, Action, AuditEntry
from tests.support import factories
from tests.support.cast import entries, page_of, sent_until
from tests.support.database import executed, no_entries
from tests.support.factories import Tenant, at, uid
from tests.support.staff import EXPORT, HISTORY, body, happened, of, signed_in, support


def sent(response: Any) -> bytes:
    assert response.status_code == 200
    return b"".join(response)


def rows(client: Client, query: str = "") -> list[dict[str, str]]:
    """The file's lines by the names of its columns, without those of exports."""
    text = sent(client.get(EXPORT + query)).decode("utf-8-sig")
    lines = csv.DictReader(io.StringIO(text, newline=""))
    return [line for line in lines if line["action"] != Action.LOG_EXPORTED.label]


def test_export_holds_all_of_an_entry(acme: Tenant, sam: Client) -> None:
    texts: dict[str, Any] = {
        "workspace_name": "Acme",
        "workspace_id": str(acme.workspace.id),
        "key_name": 'Copy, "nightly"',
        "key_prefix": "dtd_abcd1234",
        "key_id": str(uid(1, 2)),
        "document_title": "Lease\nof a flat",
        "document_id": str(uid(5)),
        "file_type": "signed",
        "address": "2001:db8::1",
        "user_agent": "curl/8",
        "request_id": "ab" * 16,
    }
    happened(**texts, created_at=at("2026-03-01 09:30:00.250000"))
    [row] = rows(sam, "?until=2026-03-01")
    assert row == dict.fromkeys(COLUMNS, "") | texts | {
        "created_at": "2026-03-01T09:30:00.250000Z",
        "action": "Document downloaded",
    }


# A cell → what it is in the file.
MARKED = {
    "a;=1+1": "a;'=1+1",
    "a\n-1;+2": "a\n'-1;'+2",
    '"=1': "'\"=1",
    "Bot/1.0 (x; +http://b.example)": "Bot/1.0 (x;' +http://b.example)",
    "a; b=c": "a; b=c",
    "Mozilla/5.0 (X11; Linux)": "Mozilla/5.0 (X11; Linux)",
    "\t=1": "'\t'=1",
}


def test_export_has_no_cell_that_is_a_formula(sam: Client) -> None:
    texts = ("workspace_name", "person", "member", "detail", "key_name", "document_title")
    assert {cell: audit_admin.safe(cell) for cell in MARKED} == MARKED
    evils = [f"{first}HYPERLINK(1)" for first in "=+-@\t\r\n＝＋－＠"]
    for evil in evils:
        AuditEntry.objects.create(**dict.fromkeys((*texts, "user_agent", "address"), evil))
    found = rows(sam)
    assert [row["detail"] for row in found] == [f"'{evil}" for evil in reversed(evils)]
    for row in found:
        assert {row[name] for name in (*texts, "user_agent", "address")} == {row["detail"]}
        assert not [cell for cell in row.values() if cell.startswith(row["detail"][1])]


def test_export_batches_meet_without_a_gap(sam: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_admin, "BATCH", 7)
    made = happened(
        49,
        created_at=lambda n: at(f"2026-01-{1 + n // 20:02} 00:00:00"),
        request_id=lambda n: str(n),
    )
    with executed() as statements:
        found = [row["request_id"] for row in rows(sam)]
    expected = sorted(made, key=lambda entry: (entry.created_at, entry.id), reverse=True)
    assert found == [entry.request_id for entry in expected]
    assert len([sql for sql in statements if "LIMIT 8" in sql]) == 8


# --- What it holds while it is sent


def test_export_that_takes_too_long_is_broken_off(
    transactional_db: None, sam: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its last line says so, since the response began as that of a whole file."""
    monkeypatch.setattr(sending, "EXPORT_SECONDS", -1.0)
    assert sent_until(TimeoutError, sam.get(EXPORT)).endswith(sending.BROKEN_OFF)


def test_export_begins_if_none_of_the_user_and_one_of_others_is_sent(
    transactional_db: None, acme: Tenant, umbrella: Tenant, sam: Client
) -> None:
    ada, uma = signed_in(acme.admin), signed_in(umbrella.admin)
    first: Any = ada.get(EXPORT)
    refused = ada.get(EXPORT)
    assert refused.status_code == 429
    assert "Each user is sent one export at a time" in body(refused)
    second: Any = uma.get(EXPORT)
    assert (second.status_code, sam.get(EXPORT).status_code) == (200, 429)
    assert len(entries(Action.LOG_EXPORTED)) == 2
    second.close()  # as for a client that has gone
    sent(first)
    for client in (ada, uma, sam):
        sent(client.get(EXPORT))


# --- Who exported it


@pytest.mark.parametrize(
    ("query", "detail"),
    [
        ("", "all of it"),
        (
            "?workspace_id__exact={acme}&since=2026-01-01&until=2026-01-31&zone=Europe/Berlin",
            "Workspace: Acme, from 2026-01-01 to 2026-01-31 inclusive, Europe/Berlin",
        ),
        (
            "?key_prefix__exact=dtd_abcdefgh&action__exact=key.revoked&within=7d",
            "What happened: API key revoked, First characters of a key: dtd_abcdefgh, Last 7 days",
        ),
        ("?person=ada@acme.example&address__exact=::1", "one address, one user"),
    ],
)
def test_export_is_recorded_with_its_filters(
    acme: Tenant, sam: Client, query: str, detail: str
) -> None:
    query = query.format(acme=acme.workspace.id)
    response: Any = sam.get(EXPORT + query)
    [entry] = entries(Action.LOG_EXPORTED)  # before it is sent
    assert (entry.action, entry.detail) == (Action.LOG_EXPORTED, detail)
    assert (entry.person, entry.address) == ("sam@support.example", "127.0.0.1")
    assert entry.request_id == response["Request-Id"]
    found = re.search("workspace_id__exact=([^&]+)", query)
    assert str(entry.workspace_id) == (found[1] if found else "None")
    sent(response)


def test_export_has_the_days_that_are_typed_and_the_period_of_a_link(sam: Client) -> None:
    """Its button sends the form, whether or not the list shows what was typed."""
    happened(created_at=timezone.now())
    page = body(sam.get(HISTORY, {"within": "30d"}))
    [button] = re.findall(r'hidden>Show</button>\s+<button form="filter"([^>]*)>Download', page)
    assert f'formaction="{EXPORT}" name="within" value="30d"' in button
    [form] = re.findall(r'(?s)<form [^>]*id="filter">.*?</form>', page)
    names = re.findall('name="([a-z]+)"', form)
    assert {*names} >= {"since", "until", "zone", "kind"}
    assert names.count("within") == 1  # of the button that shows what was typed


def test_export_has_the_days_of_a_zone_and_says_so_in_its_name(acme: Tenant, ada: Client) -> None:
    for moment in ("2025-10-31 22:59:59", "2025-10-31 23:00:00", "2025-11-30 23:00:00"):
        happened(**of(acme.workspace), created_at=at(moment))
    november = "?since=2025-11-01&until=2025-11-30&zone=Europe/Berlin"
    assert [row["created_at"] for row in rows(ada, november)] == ["2025-10-31T23:00:00Z"]
    name = "audit-log-acme-changes-from-2025-11-01-to-2025-11-30-inclusive-europe-berlin.csv"
    assert name in ada.get(f"{EXPORT}{november}&kind=changes")["Content-Disposition"]
    recorded = entries(Action.LOG_EXPORTED)
    assert {entry.workspace_id for entry in recorded} == {acme.workspace.id}  # for all its admins


def test_export_and_document_are_not_shown_without_their_entries(
    transactional_db: None, acme: Tenant
) -> None:
    document = factories.document(acme.workspace, title="Lease")
    sam = signed_in(support())
    sam.raise_request_exception = False
    with no_entries():
        for url in (EXPORT, page_of(document)):
            response = sam.get(url)
            assert response.status_code == 500
            assert b"Lease" not in response.content
