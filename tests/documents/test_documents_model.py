"""What the database itself refuses, whoever writes."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.db.models import DateTimeField, Value
from django.db.models.functions import Cast

from documents.models import Document, Recipient, StoredFile
from tests.support import factories
from tests.support.factories import Tenant


def change(document: Document, **fields: Any) -> None:
    """Past all checks of Python's: one UPDATE."""
    with transaction.atomic():
        Document.objects.filter(pk=document.pk).update(**fields)


@pytest.mark.parametrize("lacking", ["signed", "certificate", "completed_at"])
def test_document_that_is_complete_has_a_signed_file_a_certificate_and_a_time(
    acme: Tenant, lacking: str
) -> None:
    document = factories.document(acme.workspace, "COMPLETED")
    with pytest.raises(IntegrityError, match="document_complete_has_files"):
        change(document, **{lacking: None})
    change(document, status="SENT", **{lacking: None})
    with pytest.raises(IntegrityError, match="document_complete_has_files"):
        change(document, status="COMPLETED")


def test_documents_and_recipients_have_only_values_that_the_api_knows(acme: Tenant) -> None:
    factories.recipient(factories.listed(acme.workspace, 1)[0])
    cases: list[tuple[Any, dict[str, Any], str]] = [
        *((Document, {"status": each}, "document_status") for each in ("SIGNED", "sent", "")),
        (Document, {"signing_order": "RANDOM"}, "document_signing_order"),
        *((Document, {each: 0}, "document_has_pages") for each in ("page_count", "file_size")),
        *((Recipient, {"role": each}, "recipient_role") for each in ("WITNESS", "")),
        *((Recipient, {"status": each}, "recipient_status") for each in ("COMPLETED", "signed")),
    ]
    for model, fields, constraint in cases:
        with pytest.raises(IntegrityError, match=constraint), transaction.atomic():
            model.objects.update(**fields)


TIMES = {
    Document: ("created_at", "sent_at", "completed_at", "expires_at", "deleted_at"),
    Recipient: ("sent_at", "viewed_at", "completed_at", "declined_at"),
    StoredFile: ("created_at",),
}
UNREADABLE = ("infinity", "-infinity", "10000-01-01 00:00Z", "0044-03-15 BC")


@pytest.mark.parametrize("time", UNREADABLE)
def test_no_row_has_a_time_that_python_cannot_read(acme: Tenant, time: str) -> None:
    factories.recipient(factories.listed(acme.workspace, 1)[0])
    for model, columns in TIMES.items():
        for column in columns:
            unreadable = Cast(Value(time), DateTimeField())
            with pytest.raises(IntegrityError, match="_times"), transaction.atomic():
                model._default_manager.update(**{column: unreadable})


@pytest.mark.parametrize("digest", ["", "0" * 63, "g" * 64, "A" * 64, "0" * 63 + "\n"])
def test_stored_file_has_a_sha256_in_hex_digits(acme: Tenant, digest: str) -> None:
    factories.listed(acme.workspace, 1)
    with pytest.raises(IntegrityError, match="storedfile_sha256"):
        StoredFile.objects.update(sha256=digest)


def test_stored_file_belongs_to_one_document(acme: Tenant) -> None:
    one, two = factories.listed(acme.workspace, 2)
    with pytest.raises(IntegrityError, match="original_id"):
        change(two, original=one.original)
