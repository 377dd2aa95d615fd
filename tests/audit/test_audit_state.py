"""Whether the log is sealed: who sees it where, and what it costs to find out."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber
from django.core.files.storage import default_storage, storages
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from audit.models import AuditEntry, Checkpoint
from audit.sealing import state
from audit.sealing.leaves import TRUSTED
from audit.sealing.note import Horizon, Statement
from audit.sealing.witnesses import Bucket
from config.console.formatting import time_tag
from tests.support import factories, seals
from tests.support.cast import nodes
from tests.support.database import without_triggers
from tests.support.factories import Tenant
from tests.support.staff import (
    HISTORY,
    analyze,
    body,
    happened,
    operator,
    signed_in,
    support,
)

LATE = "have waited to be sealed"
DAMAGED = "found that the audit log is damaged"


pytestmark = pytest.mark.usefixtures("sealing")


def page(client: Client, url: str) -> str:
    response: Any = client.get(url)
    assert response.status_code == 200
    return body(response)


def banners(client: Client, url: str = HISTORY) -> list[str]:
    found = re.findall(
        r'<(p|li) class="banner banner-bad">(.*?)</\1>', page(client, url), re.DOTALL
    )
    return [text for _, text in found]


def of_entry(client: Client, entry: AuditEntry) -> str:
    """What the entry's page says about its seal."""
    html = page(client, reverse("admin:audit_auditentry_change", args=[entry.pk]))
    [text] = re.findall(r"field-seal.*?<div class=\"value\">(.*?)</div>", html, re.DOTALL)
    return str(text).strip()


# --- The state


def test_state_has_the_age_of_the_oldest_entry_without_a_leaf(as_owner: None, db: None) -> None:
    assert state.read() == state.State()
    old, *_ = seals.written(3)
    seals.grow_older(old, hours=2)
    found = state.read()
    assert found.unsealed_seconds == pytest.approx(7200, abs=60)
    assert found.late
    seals.seal()
    found = state.read()
    assert (found.unsealed_seconds, found.sealed, found.late) == (None, 3, False)
    [between] = seals.written()
    seals.grow_older(between, seconds=state.LATE_SECONDS - 60)
    assert not state.read().late
    seals.grow_older(between, seconds=120)
    assert state.read().late


def test_state_reads_a_few_rows_of_indexes(as_owner: None, db: None) -> None:
    happened(4000)
    seals.seal()
    # As after the next seal, when all others have ended.
    signed = Statement.opened(Checkpoint.objects.get().note, [seals.KEY.public])
    later = replace(signed, horizon=Horizon(AuditEntry.objects.latest("id").pk))
    with without_triggers():
        Checkpoint.objects.update(note=seals.KEY.sign(later.text()))
    happened(1000)
    analyze("audit_auditentry", "audit_leaf", "audit_checkpoint")
    with CaptureQueriesContext(connection) as captured:
        state.read()
    assert len(captured) == 2
    for query in captured:
        with connection.cursor() as cursor:
            statement = query["sql"].removeprefix(TRUSTED)
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
            [[[found]]] = cursor.fetchall()
        for node in nodes(found["Plan"]):
            assert node["Actual Rows"] + node.get("Rows Removed by Filter", 0) <= 2, node


# --- The witness `bucket`


@pytest.fixture
def bucket(transactional_db: None, settings: Any) -> Iterator[Any]:
    """A bucket of its own in the tests' object storage, as AUDIT_WITNESS_BUCKET sets it."""
    client = default_storage.connection.meta.client  # type: ignore[attr-defined]
    name = f"checkpoints-{uuid4().hex}"
    client.create_bucket(Bucket=name)
    settings.STORAGES = {**settings.STORAGES, "witness": settings.STORAGES["default"]}
    change_witness(settings, bucket_name=name)
    settings.AUDIT_SIGNING_KEY = seals.KEY.encode()
    settings.AUDIT_WITNESSES = ["bucket"]
    bucket = storages["witness"].bucket  # type: ignore[attr-defined]
    yield bucket
    bucket.objects.all().delete()
    client.delete_bucket(Bucket=name)


def change_witness(settings: Any, **options: str) -> None:
    """Changes options of the witness's storage."""
    witness = settings.STORAGES["witness"]
    changed = {**witness, "OPTIONS": {**witness["OPTIONS"], **options}}
    settings.STORAGES = {**settings.STORAGES, "witness": changed}


def in_bucket(bucket: Any) -> dict[str, str]:
    return {each.key: each.get()["Body"].read().decode() for each in bucket.objects.all()}


def key_of(checkpoint: Checkpoint) -> str:
    return f"sealed/{checkpoint.sealed_at:%Y-%m-%d/%H%M%S}-{checkpoint.size:020}"


def test_witness_bucket_has_each_checkpoint(bucket: Any) -> None:
    for count in (2, 1):
        seals.written(count)
        call_command("seal_audit")
    first, second = Checkpoint.objects.order_by("size")
    assert in_bucket(bucket) == {key_of(first): first.note, key_of(second): second.note}
    assert Bucket().newest() == second.note


def test_witness_bucket_only_gets_new_objects(bucket: Any) -> None:
    """The tests' object storage does not refuse others, so the requests are compared."""
    seals.written(2)
    seals.seal()
    newest = Checkpoint.objects.get()
    key = {"Bucket": bucket.name, "Key": key_of(newest)}
    sent = {**key, "Body": ANY, "ContentMD5": ANY, "IfNoneMatch": "*"}
    witness = Bucket()
    with Stubber(witness._client()) as stubber:
        for content in (newest.note.encode(), b"another"):
            stubber.add_client_error("put_object", "PreconditionFailed", expected_params=sent)
            stubber.add_response("get_object", {"Body": io.BytesIO(content)}, key)
        witness.publish(newest.size, newest.note)
        with pytest.raises(ClientError, match="PreconditionFailed"):
            witness.publish(newest.size, newest.note)
        stubber.assert_no_pending_responses()


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"access_key": ""}, "AUDIT_WITNESS_ACCESS_KEY_ID is not set"),
        (
            {"bucket_name": "no-such-bucket"},
            "The witness bucket no-such-bucket did not get the checkpoint of 1 entries",
        ),
    ],
)
def test_witness_bucket_that_cannot_be_written_is_named_and_the_log_is_sealed(
    bucket: Any, settings: Any, capsys: pytest.CaptureFixture[str], option: Any, said: str
) -> None:
    change_witness(settings, **option)
    seals.written(1)
    with pytest.raises(CommandError, match="A witness has not received"):
        call_command("seal_audit")
    assert said in capsys.readouterr().err
    assert in_bucket(bucket) == {}
    assert Checkpoint.objects.get().size == 1


def test_witness_bucket_that_knows_more_stops_sealing(bucket: Any) -> None:
    time = timezone.now() - timedelta(minutes=1)
    lost = Statement("tests.example/audit", 7, b"0" * 32, time)
    bucket.put_object(Key="sealed/2026-01-01/000000-1", Body=b"no checkpoint")
    Bucket().publish(lost.size, seals.KEY.sign(lost.text()))
    seals.written(2)
    with pytest.raises(CommandError, match="7 entries were sealed at"):
        call_command("seal_audit")
    call_command("seal_audit", "--after-restore")
    assert Checkpoint.objects.latest("size").note == Bucket().newest()


# --- The admin


def test_audit_entry_page_names_the_first_checkpoint_with_it(transactional_db: None) -> None:
    sam = signed_in(support())
    first, second, third = (seals.written()[0] for _ in range(3))
    assert of_entry(sam, first) == "Not sealed yet"
    seals.seal()
    entry = happened(1200)[0]
    seals.seal()
    small, large = Checkpoint.objects.order_by("size")
    assert (small.size, large.size) == (3, 1203)
    assert of_entry(sam, third) == (
        f"Leaf 2; sealed by the checkpoint of {time_tag(small.sealed_at)}, with 3 entries"
    )
    assert of_entry(sam, entry) == (
        f"Leaf 3; sealed by the checkpoint of {time_tag(large.sealed_at)}, with 1,203 entries"
    )


@pytest.mark.parametrize("who", ["support", "operator", "admin"])
def test_an_installation_that_does_not_seal_says_nothing_of_seals(
    as_owner: None, acme: Tenant, who: str, settings: Any
) -> None:
    settings.AUDIT_PUBLIC_KEYS = []
    document = factories.document(acme.workspace, "COMPLETED")
    assert acme.get(f"/documents/{document.id}/download").status == 200
    entry = AuditEntry.objects.get(document_id=document.id)
    seals.grow_older(entry, hours=48)
    user = {"support": support, "operator": operator}.get(who, lambda: acme.admin)()
    client = signed_in(user)
    documents = reverse("admin:documents_document_changelist")
    of_document = f"{HISTORY}?document_id__exact={document.id}"
    urls = [reverse("admin:index"), HISTORY, of_document, documents]
    urls += [reverse("admin:audit_auditentry_change", args=[entry.pk])]
    urls += [reverse("admin:documents_document_change", args=[document.pk])]
    for url in urls:
        assert not re.search(r"(?i)\bseal|evidence(?![ _]exported)", page(client, url)), url
    evidence = reverse("admin:documents_document_evidence", args=[document.pk])
    response: Any = client.get(evidence, follow=True)
    assert response.redirect_chain == [(of_document, 302)]
    assert "The audit log of this installation is not sealed" in response.content.decode()


@pytest.mark.parametrize("who", ["support", "operator", "admin"])
def test_late_seals_and_damage_warn(as_owner: None, acme: Tenant, who: str, settings: Any) -> None:
    user = {"support": support, "operator": operator}.get(who, lambda: acme.admin)()
    client = signed_in(user)
    # An operator's start page has what the checks find, too.
    urls = (HISTORY, reverse("admin:index"))[: 1 if who == "operator" else 2]
    seals.seal()
    for url in urls:
        assert banners(client, url) == []
    [old] = seals.written()
    seals.grow_older(old, minutes=25)
    for url in urls:
        [late] = banners(client, url)
        assert f"{LATE} for 25 minutes" in late
        assert "<code>manage.py seal_audit --follow</code>" in late
    seals.found_damaged()
    for url in urls:
        damaged, late = banners(client, url)
        assert DAMAGED in damaged
        assert "<code>manage.py verify_audit</code>" in damaged
    seals.seal()
    settings.AUDIT_DAMAGE_SETTLED = f"{state.read().damaged_at:%Y-%m-%dT%H:%M:%SZ}"
    for url in urls:
        assert banners(client, url) == []
