"""What the API promises, field by field, and what it writes are the same."""

from config.answers import as_json
from documents.contract import DocumentSerializer
from documents.reading import newest, recipients_of
from documents.serializers import documents_json
from tests.factories import Tenant
from tests.test_documents_list import completed, declined, draft


def test_the_quick_writer_writes_what_the_contract_says(acme: Tenant) -> None:
    made = [draft(acme), declined(acme), completed(acme)]
    rows = newest(acme.workspace.id, None, None, 10)
    promised = [DocumentSerializer(document).data for document in made]
    assert as_json(documents_json(rows, recipients_of(rows))) == as_json(promised)
