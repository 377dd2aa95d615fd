"""What the database is asked: few statements, the same whatever a page holds, over the indexes."""

import re
from urllib.parse import quote

import pytest
from django.db import connection

from tests.support import factories
from tests.support.cast import nodes, plan, statements
from tests.support.client import get
from tests.support.database import executed
from tests.support.factories import Tenant, at

KEY = "SELECT apikeys_apikey + workspaces_workspace"
COUNTS = "SELECT workspaces_documentcount"
DOCUMENT = "SELECT documents_document"
ONE = "SELECT documents_document + documents_recipient"
RECIPIENTS = "SELECT documents_recipient"
FILES = "SELECT documents_document + documents_storedfile"
ENTRY = "INSERT audit_auditentry"


def shape(sql: str) -> str:
    """A statement's verb and tables: `SELECT one + another × 2`."""
    tables = re.findall(r'(?:FROM|JOIN|INTO|UPDATE) "(\w+)"', sql)
    counted = [
        table + (f" × {tables.count(table)}" if tables.count(table) > 1 else "")
        for table in dict.fromkeys(tables)
    ]
    return f"{sql.split()[0]} {' + '.join(counted)}"


def shapes(tenant: Tenant, path: str, method: str = "GET", status: int = 200) -> list[str]:
    return [shape(sql) for sql in statements(tenant, path, method, status)]


def test_queries_are_as_many_whatever_there_is(acme: Tenant) -> None:
    for count in (1, 40):
        for document in factories.listed(acme.workspace, count):
            for number in range(3):
                factories.recipient(document, order=number)
        assert shapes(acme, "/me") == [KEY, COUNTS]
        for query in ("", "?limit=100", "?status=SENT", "?limit=1"):
            assert shapes(acme, f"/documents{query}") == [KEY, DOCUMENT, RECIPIENTS]
        assert shapes(acme, f"/documents/{document.id}") == [KEY, ONE]
    assert shapes(acme, f"/documents/{acme.workspace.id}", status=404) == [KEY, ONE]


def test_queries_of_a_download_are_one_read_and_one_entry(acme: Tenant) -> None:
    document = factories.document(acme.workspace, "COMPLETED")
    for file_type in ("", "?type=original"):
        path = f"/documents/{document.id}/download{file_type}"
        assert shapes(acme, path, "HEAD") == [KEY, FILES]
        assert shapes(acme, path) == [KEY, FILES, ENTRY]


def test_queries_of_what_is_no_key_are_none(acme: Tenant) -> None:
    for header in (None, "", "Basic x", "Bearer x", "Bearer dtd_é"):
        with executed() as found:
            assert get("/api/v1/me", header).status == 401
        assert found == []


@pytest.fixture
def full(acme: Tenant, umbrella: Tenant) -> Tenant:
    """Enough documents, next door as well, that an index is worth its while."""
    for tenant in (acme, umbrella):
        factories.listed(
            tenant.workspace,
            300,
            created_at=lambda n: at(f"2026-01-{n % 28 + 1:02} {n % 24:02}:00:00"),
            status=lambda n: ("SENT", "SENT", "VIEWED", "DRAFT")[n % 4],
        )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE documents_document")
    return acme


@pytest.mark.usefixtures("as_owner")  # ANALYZE
def test_queries_of_a_page_read_its_index_in_its_order(full: Tenant) -> None:
    cases = [("", "", "document_newest"), ("&status=DRAFT", "status", "document_status_newest")]
    for filters, column, index in cases:
        first = f"/documents?limit=25{filters}"
        cursor = full.get(first).json()["nextCursor"]
        for path in (first, f"{first}&cursor={quote(cursor)}"):
            _, sql, _ = statements(full, path)
            scans = list(nodes(plan(sql, "bitmapscan", "sort")))
            assert [node["Node Type"] for node in scans] == ["Limit", "Index Scan"]
            scan = scans[1]
            assert scan["Index Name"] == index
            assert "workspace_id" in scan["Index Cond"]
            assert column in scan["Index Cond"]
            assert ("ROW(created_at, id) < ROW(" in scan["Index Cond"]) == ("cursor" in path)
            assert "Filter" not in scan
