"""What the API promises, field by field, and what it writes are the same."""

from typing import Any
from uuid import uuid4

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from config.api.responses import as_json
from documents.api.queries import newest, one, recipients_of
from documents.api.serializers import document_objects
from documents.contract import DocumentSerializer
from documents.models import Document, Recipient, StoredFile
from tests.factories import Tenant, at
from tests.test_documents_list import completed, declined, draft


def test_serializers_write_what_the_contract_says(acme: Tenant) -> None:
    made = [draft(acme), declined(acme), completed(acme)]
    rows = newest(acme.workspace.id, None, None, 10)
    promised = [DocumentSerializer(document).data for document in made]
    assert as_json(document_objects(rows, recipients_of(rows))) == as_json(promised)


def texts(most: int) -> st.SearchStrategy[str]:
    """Anything that PostgreSQL takes as a text."""
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=most)


MOMENTS = st.datetimes(
    min_value=at("1970-01-01 00:00:00").replace(tzinfo=None),
    max_value=at("2999-12-31 23:59:59").replace(tzinfo=None),
).map(lambda moment: at(moment.isoformat(sep=" ")))
MAYBE = st.none() | MOMENTS
RECIPIENTS = st.fixed_dictionaries(
    {
        "name": texts(200),
        "email": texts(254),
        "role": st.sampled_from(Recipient.Role.values),
        "status": st.sampled_from(Recipient.Status.values),
        "order": st.integers(0, 2**31 - 1),
        "sent_at": MAYBE,
        "viewed_at": MAYBE,
        "completed_at": MAYBE,
        "declined_at": MAYBE,
        "decline_reason": st.none() | texts(2000),
    }
)
DOCUMENTS = st.fixed_dictionaries(
    {
        "title": texts(500),
        "status": st.sampled_from(sorted({*Document.Status.values} - {"COMPLETED"})),
        "file_name": texts(255),
        "page_count": st.integers(1, 2**31 - 1),
        "file_size": st.integers(1, 2**63 - 1),
        "signing_order": st.sampled_from(Document.SigningOrder.values),
        "created_at": MOMENTS,
        "sent_at": MAYBE,
        "completed_at": MAYBE,
        "expires_at": MAYBE,
    }
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(DOCUMENTS, st.lists(RECIPIENTS, max_size=5)), max_size=4))
def test_serializers_write_it_for_documents_of_any_kind(
    acme: Tenant, made: list[tuple[dict[str, Any], list[dict[str, Any]]]]
) -> None:
    Document.objects.all().delete()
    for fields, people in made:
        file = StoredFile.objects.create(object_key=uuid4().hex, size=1, sha256="0" * 64)
        document = Document.objects.create(workspace=acme.workspace, original=file, **fields)
        for each in people:
            Recipient.objects.create(document=document, **each)
    promised = [DocumentSerializer(each).data for each in Document.objects.newest_first()]
    rows = newest(acme.workspace.id, None, None, 10)
    assert as_json(document_objects(rows, recipients_of(rows))) == as_json(promised)
    for row, whole in zip(rows, promised, strict=True):
        alone = [one(acme.workspace.id, row[0])]
        assert as_json(document_objects(alone, recipients_of(alone))) == as_json([whole])
