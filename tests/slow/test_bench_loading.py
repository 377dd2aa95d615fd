"""The benchmark's loaders: the tables keep their schema, and hold the rows that were asked for."""

from uuid import UUID

import pytest

from audit.models import AuditEntry
from bench.loading import documents, identity
from bench.loading.tables import NotAsLoaded, query, without_indexes
from bench.scale import SCALES
from documents.models import Document, Recipient
from workspaces.models import Workspace

TABLES = ["audit_auditentry", *documents.TABLES]


DECLARED = {index.name for model in (AuditEntry, Document) for index in model._meta.indexes}


def schema() -> list[tuple[str, str]]:
    """Names and definitions of the tables' indexes and constraints."""
    return query(
        "SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename = ANY(%s)"
        " UNION ALL SELECT conname::text, pg_get_constraintdef(oid) FROM pg_constraint"
        " WHERE conrelid = ANY(%s::regclass[]) ORDER BY 1, 2",
        TABLES,
        TABLES,
    )


def declared_indexes() -> set[str]:
    """The indexes that the tables have now and that the models declare."""
    names = query("SELECT indexname FROM pg_indexes WHERE tablename = ANY(%s)", TABLES)
    return {name for (name,) in names} & DECLARED


@pytest.mark.usefixtures("as_owner", "db")
def test_without_indexes_removes_them_and_creates_the_same_ones_again() -> None:
    before = schema()
    assert len(DECLARED) > 10
    assert declared_indexes() == DECLARED
    with without_indexes(TABLES):
        assert declared_indexes() == set()
    assert schema() == before


@pytest.mark.usefixtures("as_owner", "db")
def test_documents_load_inserts_each_workspace_s_and_verify_misses_none() -> None:
    loaded = identity.workspaces(SCALES["small"])[1:3]
    Workspace.objects.bulk_create(Workspace(id=w.id, name=w.name) for w in loaded)
    documents.load(loaded)
    found = Document.objects.filter(workspace_id=loaded[0].id)
    assert found.filter(deleted_at=None).count() == loaded[0].documents
    assert found.exclude(deleted_at=None).count() == loaded[0].deleted
    assert Recipient.objects.filter(document__in=found).count() == 3 * found.count()
    assert len(set(found.values_list("created_at", flat=True))) < found.count()
    with pytest.raises(NotAsLoaded, match="DECLINED"):  # a small workspace has too few
        documents.verify(loaded, rare="DECLINED")
    found.filter(deleted_at=None).latest("created_at").delete()
    with pytest.raises(NotAsLoaded, match="documents"):
        documents.verify(loaded, rare="SENT")


@pytest.mark.usefixtures("as_owner", "db")
def test_documents_load_gives_the_large_workspace_few_declined_ones() -> None:
    large = identity.workspaces(SCALES["small"])[:1]
    Workspace.objects.create(id=large[0].id, name=large[0].name)
    documents.load(large)
    documents.verify(large)


@pytest.mark.usefixtures("as_owner", "db")
def test_identifier_is_what_the_loaders_sql_makes() -> None:
    assert query("SELECT md5('party ' || 7)::uuid") == [(identity.identifier("party", 7),)]
    assert isinstance(identity.identifier("party", 7), UUID)
