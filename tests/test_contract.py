"""What the API promises, field by field, and what it writes are the same."""

from config.api import OrjsonRenderer
from documents.contract import DocumentSerializer
from documents.models import Document
from documents.serializers import DOCUMENT_COLUMNS, documents_json
from tests.factories import Tenant
from tests.test_documents_list import completed, declined, draft


def test_the_quick_writer_writes_what_the_contract_says(acme: Tenant) -> None:
    made = [draft(acme), declined(acme), completed(acme)]
    rows = list(Document.objects.newest_first().values_list(*DOCUMENT_COLUMNS))
    promised = [DocumentSerializer(document).data for document in made]
    assert OrjsonRenderer().render(documents_json(rows)) == OrjsonRenderer().render(promised)
