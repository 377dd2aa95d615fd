"""The benchmark's data: its tables are afterwards as the migrations made them, its rows as said."""

from datetime import UTC, datetime

import pytest
from django.db import connection

from bench.loading import documents, entries, identity, instants, verify
from bench.loading.schema import described, stripped
from bench.scale import SCALES
from documents.models import Document, Recipient
from workspaces.models import Workspace

TABLES = ["audit_auditentry", *documents.TABLES]
SECRET = identity.Secret(b"test")


def indexes() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT indexname FROM pg_indexes WHERE tablename = ANY(%s)", [TABLES])
        return [name for (name,) in cursor.fetchall()]


@pytest.mark.usefixtures("db")
def test_tables_have_no_index_while_they_are_filled_and_the_same_ones_afterwards() -> None:
    before = described(TABLES)
    assert len(indexes()) > 20
    with stripped(TABLES):
        assert indexes() == []
    assert described(TABLES) == before


@pytest.mark.usefixtures("db")
def test_tables_that_are_not_as_before_are_an_error() -> None:
    with (
        pytest.raises(RuntimeError, match="audit_extra"),
        stripped(["audit_auditentry"]),
        connection.cursor() as cursor,
    ):
        cursor.execute("CREATE INDEX audit_extra ON audit_auditentry (action)")


@pytest.mark.usefixtures("db")
def test_documents_are_as_many_as_said_and_no_workspace_s_are_missing() -> None:
    everyone = identity.workspaces(SCALES["small"], SECRET)[1:3]
    Workspace.objects.bulk_create(Workspace(id=w.id, name=w.name) for w in everyone)
    documents.load(everyone)
    found = Document.objects.filter(workspace_id=everyone[0].id)
    assert found.filter(deleted_at=None).count() == everyone[0].documents
    assert Recipient.objects.filter(document__in=found).count() == 3 * found.count()
    with pytest.raises(verify.NotAsLoaded, match="DECLINED"):  # a small workspace has too few
        verify.documents(everyone, documents.RECIPIENTS, rare="DECLINED")
    found.filter(deleted_at=None).latest("created_at").delete()
    with pytest.raises(verify.NotAsLoaded, match="documents"):
        verify.documents(everyone, documents.RECIPIENTS, rare="SENT")


@pytest.mark.usefixtures("db")
def test_audit_entries_are_as_many_as_said() -> None:
    entries.load(1000)
    verify.entries(1000)
    with pytest.raises(verify.NotAsLoaded):
        verify.entries(1001)


def test_times_are_written_as_they_are() -> None:
    time = datetime(2026, 2, 28, 23, 59, 59, 7, UTC)
    assert datetime.fromisoformat(instants.written(instants.instant(time))) == time
