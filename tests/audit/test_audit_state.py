"""Whether the log is sealed: who sees it where, and what it costs to find out."""

import os
import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.checks import CheckMessage
from django.core.files.storage import default_storage, storages
from django.core.management import call_command
from django.test import Client

from audit.models import AuditEntry, Checkpoint, Leaf
from audit.monitoring import audit_log
from audit.sealing import state
from audit.sealing.witnesses import Bucket
from config import health
from config.connections import processes
from tests.support import factories, roles, seals
from tests.support.cast import page_of
from tests.support.factories import Tenant
from tests.support.receiver import delivering
from tests.support.server import eventually
from tests.support.staff import HISTORY, START, asked, body

LATE, DAMAGED = "have waited to be sealed", "found that the log is damaged"


pytestmark = pytest.mark.usefixtures("sealing")


def page(client: Client, url: str) -> str:
    response: Any = client.get(url)
    assert response.status_code == 200
    return body(response)


def banners(client: Client, url: str = HISTORY, state: str = "bad") -> list[str]:
    return re.findall(rf'(?s)<li class="{state}">(.*?)</li>', page(client, url))


def errors() -> list[CheckMessage]:
    return [each for each in audit_log(databases=["default"]) if each.is_serious()]


@pytest.fixture
def bucket(transactional_db: None, settings: Any) -> Iterator[Any]:
    """A bucket of its own in the tests' object storage, as AUDIT_WITNESS_BUCKET sets it."""
    client = default_storage.connection.meta.client  # type: ignore[attr-defined]
    name = f"checkpoints-{uuid4().hex}"
    client.create_bucket(Bucket=name)
    default = settings.STORAGES["default"]
    witness = {**default, "OPTIONS": {**default["OPTIONS"], "bucket_name": name}}
    settings.STORAGES = {**settings.STORAGES, "witness": witness}
    settings.AUDIT_SIGNING_KEY = seals.KEY.encode()
    settings.AUDIT_WITNESSES = ["bucket"]
    bucket = storages["witness"].bucket  # type: ignore[attr-defined]
    yield bucket
    bucket.objects.all().delete()
    client.delete_bucket(Bucket=name)


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


def test_late_seals_and_damage_warn(
    transactional_db: None,
    housekeeping: None,
    sam: Client,
    ada: Client,
    desk: Client,
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As the checks find it. Only an operator reads what to do; an admin reads in grey."""
    monkeypatch.setattr(health, "KEPT", timedelta(0))
    pages = {
        (sam, HISTORY, "bad"): "An operator has to act.",
        (ada, HISTORY, "quiet"): "This is for the service’s operators: you need not do anything.",
        (ada, START, "quiet"): "This is for the service’s operators: you need not do anything.",
    }
    seals.seal()
    for client, url, state_of_line in [*pages, (desk, HISTORY, "bad")]:
        assert banners(client, url, state_of_line) == []
    [old] = seals.written()
    with roles.as_owner():
        seals.grow_older(old, minutes=25)
    [late] = errors()
    assert f"{LATE} for 25 minutes" in late.msg
    assert "journalctl -u documents-api-seal" in str(late.hint)
    for (client, url, state_of_line), who_acts in pages.items():
        assert banners(client, url, state_of_line) == [f"<b>Audit log: {late.msg}</b> {who_acts}"]
    [found] = banners(desk)
    assert found.startswith(f"<b>Audit log: {late.msg}</b>")
    assert "<code>journalctl -u documents-api-seal</code>" in found
    seals.found_damaged()
    damaged, late = errors()
    assert DAMAGED in damaged.msg
    assert "AUDIT_DAMAGE_SETTLED" in str(damaged.hint)
    for where in pages:
        assert DAMAGED in banners(*where)[0]
    assert [DAMAGED in banners(desk)[0], LATE in banners(desk)[1]] == [True, True]
    seals.seal()
    settings.AUDIT_DAMAGE_SETTLED = f"{state.read().damaged_at:%Y-%m-%dT%H:%M:%SZ}"
    for where in pages:
        assert banners(*where) == []


def test_an_opened_entry_names_the_first_checkpoint_that_has_it(
    transactional_db: None, sam: Client
) -> None:
    """However many follow, it reads one."""
    [entry] = seals.written()
    for _ in range(3):
        seals.seal()
        [last] = seals.written()
    statements = asked(sam, f"{HISTORY}?open={entry.pk}")
    assert ["LIMIT 1" in sql for sql in statements if '"audit_checkpoint"' in sql] == [True]
    leaf = Leaf.objects.get(entry_id=entry.pk).index
    first = Checkpoint.objects.order_by("size")[0].size
    text = re.sub("<[^>]+>", "", page(sam, f"{HISTORY}?open={entry.pk}"))
    assert re.search(rf"Leaf {leaf}; sealed by the checkpoint of .*, with {first} entries", text)
    assert "Not sealed yet" in page(sam, f"{HISTORY}?open={last.pk}")


def test_a_process_that_seals_no_more_is_missed_at_once(
    transactional_db: None, tmp_path: Path
) -> None:
    """Where none has begun, such as with a timer, none is missed. One fault is one error."""
    missing = "No process seals its entries; nothing would show a change of new ones."
    seals.written()
    seals.seal()
    assert errors() == []
    url = os.environ.get("DATABASE_SEALER_URL", "")
    variables = {**seals.VARIABLES, "AUDIT_WITNESSES": "stdout", "DATABASE_SEALER_URL": url}
    with delivering(tmp_path / "log", "seal_audit --follow", **variables):
        assert eventually(lambda: processes(state.PROCESS) and state.read().unsealed_seconds == 0)
        assert errors() == []
    with roles.as_owner():
        seals.grow_older(seals.written()[0], minutes=25)
    assert eventually(lambda: [each.msg for each in errors()] == [missing])


def test_an_installation_that_does_not_seal_says_nothing_of_seals(
    as_owner: None, acme: Tenant, ada: Client, sam: Client, desk: Client, settings: Any
) -> None:
    settings.AUDIT_PUBLIC_KEYS = []
    document = factories.document(acme.workspace, "COMPLETED")
    assert acme.get(f"/documents/{document.id}/download").status == 200
    entry = AuditEntry.objects.get(document_id=document.id)
    seals.grow_older(entry, hours=48)
    of_document = f"{HISTORY}?document_id__exact={document.id}"
    urls = (START, of_document, page_of(entry), page_of(document))
    for client in (ada, sam, desk):
        for url in urls:
            html = page(client, url).replace("audit log (not sealed)", "")
            said = re.search(r"(?i)\bseal\w{0,3}\b|evidence(?![ _]exported)", html)
            assert said is None, url
        response: Any = client.get(page_of(document, "evidence"), follow=True)
        assert response.redirect_chain == [(of_document, 302)]
        assert "The audit log of this installation is not sealed" in body(response)
