"""The audit log's queries: few, and each reads a range of its index, at any depth."""

import pytest
from django.test import Client

from audit.models import Action, AuditEntry
from config.connections import fetch
from config.console.lists import page_after
from tests.support.cast import nodes, plan
from tests.support.database import execute, executed
from tests.support.factories import Tenant, at, uid
from tests.support.staff import HISTORY, SEARCH, admin_of_more, analyze, asked, happened, signed_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("as_owner")]  # ANALYZE

ENTRIES = 3000
RARE = [action for action in Action if not action.startswith("document.")]


@pytest.fixture
def busy(acme: Tenant, umbrella: Tenant) -> Tenant:
    """Acme among a hundred workspaces with their entries, of which most are downloads."""
    workspaces = [acme.workspace.id, umbrella.workspace.id, *(uid(n, 1) for n in range(10, 108))]

    def common(number: int) -> bool:
        return number % 20 > 0

    happened(
        ENTRIES,
        action=lambda n: "document.downloaded" if common(n) else RARE[n // 20 % len(RARE)],
        workspace_id=lambda n: workspaces[n % 100],
        workspace_name=lambda n: f"Workspace {n % 100}",
        person=lambda n: "" if common(n) else f"person{n % 100 + n // 20 % 30}@x.example",
        member=lambda n: "" if common(n) else f"member{n % 100 + n // 20 % 30}@x.example",
        key_id=lambda n: uid(n % 300, 2),
        key_name=lambda n: f"Key {n % 300}",
        key_prefix=lambda n: f"dtd_{n % 300:08}",
        document_id=lambda n: uid(n % 1000, 3) if common(n) else None,
        document_title=lambda n: f"Paper {n % 1000}" if common(n) else "",
        address=lambda n: f"203.0.{n % 100}.{n // 100}",
        request_id=lambda n: f"{n * 2**100:032x}",
    )
    analyze("audit_auditentry")
    return acme


def used(client: Client, query: str) -> set[str]:
    """The indexes that a page of the history is read from; nothing else is read of its table."""
    return indexes(asked(client, HISTORY + query), query)


def indexes(queries: list[str], query: str = "") -> set[str]:
    found: set[str] = set()
    for sql in queries:
        if 'FROM "audit_auditentry"' not in sql or 'FROM "usage_refusedrequest"' in sql:
            continue
        assert "COUNT(" not in sql
        assert "OFFSET" not in sql
        for node in nodes(plan(sql)):
            assert node["Node Type"] != "Seq Scan", sql
            if node.get("Index Name") == "audit_newest" and "after=" in query:
                assert "created_at <= " in node["Index Cond"]
            found.add(node.get("Index Name", ""))
    return found - {"", "audit_auditentry_pkey"}


READ_FROM = {
    "": {"audit_newest"},
    "action__exact=key.revoked": {"audit_action"},
    f"workspace_id__exact={uid(20, 1)}": {"audit_workspace"},
    f"document_id__exact={uid(20, 3)}": {"audit_document"},
    f"key_id__exact={uid(20, 2)}": {"audit_key"},
    f"workspace_id__exact={uid(1, 1)}&action__exact=key.revoked": {"audit_workspace_action"},
    "kind=changes": {"audit_changes"},
    "kind=imports": {"audit_action"},
    f"workspace_id__exact={uid(1, 1)}&kind=changes": {
        "audit_workspace_changes",
        "audit_workspace_action",
    },
    "key_prefix__exact=dtd_00000020": {"audit_key_prefix"},
    "person=person20@x.example": {"audit_person", "audit_member"},
    "address__exact=203.0.20.3": {"audit_address"},
    f"request_id__exact={20 * 2**100:032x}": {"audit_request"},
}


def test_audit_filters_read_their_indexes_at_any_depth(busy: Tenant, sam: Client) -> None:
    oldest = AuditEntry.objects.order_by("created_at")[ENTRIES // 3]
    deep = oldest.pk
    for query, indexes in READ_FROM.items():
        for page in (f"?{query}", f"?{query}&after={deep}"):
            assert used(sam, page) <= indexes, page
    # In a log of millions, sorting a user's entries seems to cost more than looking through it all.
    execute("SET LOCAL enable_sort = off")
    for login in ("person20@x.example", "nobody@x.example"):
        assert used(sam, f"?person={login}") == {"audit_person", "audit_member"}


@pytest.mark.parametrize("several", [0, 1, 1000])
def test_audit_log_of_an_admin_and_the_box_in_the_header_read_a_range_of_an_index(
    busy: Tenant, sam: Client, several: int
) -> None:
    """For support, and for an admin of one or of a thousand workspaces."""
    admin_of_more(busy.admin, several - 1)
    analyze("workspaces_workspace", "workspaces_membership")
    client = signed_in(busy.admin) if several else sam
    for query in ("", "?kind=changes"):
        read = used(client, query)
        assert read
        assert not several or all(name.startswith("audit_workspace") for name in read)
    texts = (f"dtd_{20:08}", uid(20, 3), uid(20, 2), uid(1, 3), f"{20 * 2**100:032x}")
    for text in (*texts, "person20@x.example", "203.0.20.3"):
        with executed() as statements:
            assert client.post(SEARCH, {"q": str(text)}).status_code == 302
        read = indexes(statements)
        assert {each for each in read if each.startswith("audit_")}, text
        assert not read & {"audit_newest", "audit_changes"}, text


def test_a_deep_page_of_days_begins_at_its_position(busy: Tenant) -> None:
    """PostgreSQL 18 would begin at the end of the days, for each batch of an export."""
    last = AuditEntry.objects.order_by("created_at", "id")[50]
    rows = AuditEntry.objects.filter(created_at__lt=at("2030-01-01 00:00:00"))
    with executed() as statements:
        page_after([rows], last, 5)
    [[[found]]] = fetch(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statements[-1]}", [])
    assert found["Plan"]["Shared Hit Blocks"] < 10
