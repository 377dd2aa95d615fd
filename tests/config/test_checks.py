"""`check --deploy --database default`: what it finds; and the page System, which has the same."""

import io
import os
import re
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from html import unescape
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, run_checks
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import Action, AuditEntry
from audit.monitoring import audit_log, backup
from config import checks, health
from config.checks import HOUSEKEEPING, operation, redis
from documents import storage
from events.webhooks import monitoring
from tests.support import factories, seals, staff, webhooks
from tests.support.cast import page_of, text_of
from tests.support.database import backdated, url_of
from tests.support.factories import Tenant
from tests.support.processes import check
from tests.support.proxy import HOST, Proxy
from tests.support.receiver import delivering
from tests.support.server import PATIENCE, ROOT, eventually
from tests.support.staff import HISTORY, START, body
from tests.support.usage import refused
from workspaces.models import Session

PAGE = reverse("admin:system")

Check = Callable[..., list[CheckMessage]]


def found(check: Check) -> str:
    return "\n".join(f"{each.id} {each.msg}" for each in check(databases=["default"]))


@pytest.mark.slow
def test_check_deploy_finds_nothing_in_production(transactional_db: None, acme: Tenant) -> None:
    factories.document(acme.workspace)
    seals.written()
    seals.seal()
    seals.verified()
    call_command("record_backup", "3 files", stdout=StringIO())
    with webhooks.delivering(HOUSEKEEPING):
        assert check() == ""


WRONG = {
    "SECRET_KEY": ("secret", "(security.W009) Your SECRET_KEY has less than 50 characters"),
    "DATABASE_URL": (f"postgresql://documents:a-secret@{HOST}:9/x", "database: (config.E002) "),
    "S3_SECRET_ACCESS_KEY": ("wrong", "documents' files: (documents.E002) "),
}


@pytest.mark.slow
def test_check_deploy_names_each_variable_that_is_wrong(transactional_db: None) -> None:
    found = check(**{name: value for name, (value, _) in WRONG.items()})
    assert [finding for _, finding in WRONG.values() if finding not in found] == []
    assert "a-secret" not in found
    assert "e-mails: (workspaces.D001) None is sent" in found
    assert "(config.E001) S3_BUCKET is not set." in check(S3_BUCKET="")


@pytest.mark.parametrize(
    ("check", "name", "value", "finding"),
    [
        (redis, "COUNT_IN_PROCESS", True, "config.W003 Each process counts"),
        (redis, "REDIS_URL", f"redis://{HOST}:9/0", "config.D003 The error was: Error "),
        (audit_log, "AUDIT_PUBLIC_KEYS", [], "audit.I001 It is not sealed: nothing would"),
        (audit_log, "AUDIT_PUBLIC_KEYS", ["x"], "audit.E001 AUDIT_PUBLIC_KEYS is not"),
    ],
)
def test_check_names_a_setting_that_is_wrong(
    db: None, settings: Any, check: Check, name: str, value: Any, finding: str
) -> None:
    settings.AUDIT_PUBLIC_KEYS, settings.COUNT_IN_PROCESS = [str(seals.KEY.public)], False
    setattr(settings, name, value)
    assert finding in found(check)


@pytest.fixture
def nginx_with_certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Starts what listens in nginx' place, with a certificate that ends in so many days."""
    context, listening = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), socket.create_server((HOST, 0))
    monkeypatch.setattr(checks, "TLS", tmp_path)
    monkeypatch.setattr(checks, "NGINX", listening.getsockname())

    def start(days: int) -> None:
        key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([])
        ends = datetime.now(UTC) + timedelta(days)
        made = x509.CertificateBuilder(name, name, key.public_key(), 1)
        made = made.not_valid_before(ends - timedelta(365)).not_valid_after(ends)
        pem, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        file = tmp_path / "tls.pem"
        file.write_bytes(key.private_bytes(pem, kind, serialization.NoEncryption()))
        with file.open("ab") as open_file:
            open_file.write(made.sign(key, hashes.SHA256()).public_bytes(pem))
        context.load_cert_chain(file)
        threading.Thread(target=serve, daemon=True).start()

    def serve() -> None:
        plain, _ = listening.accept()
        with plain, context.wrap_socket(plain, server_side=True) as encrypted:
            encrypted.recv(1)

    with listening:
        yield start


@pytest.mark.parametrize(
    ("days", "id"),
    [(90, "config.I004"), (20, "config.W004"), (6, "config.E004"), (-1, "config.E004")],
)
def test_check_says_when_the_certificate_ends(
    db: None, nginx_with_certificate: Any, days: int, id: str
) -> None:
    nginx_with_certificate(days)
    [said] = [each for each in operation(databases=["default"]) if "certificate" in each.msg]
    assert f"{said.id} {said.msg}" == f"{id} The certificate ends in {days - 1} days."
    assert bool(said.hint) == (said.id != "config.I004")


def test_check_knows_the_last_backup_and_warns_of_an_old_one(db: None) -> None:
    assert found(backup) == "audit.W003 Never made."
    backdated([AuditEntry(action=Action.BACKUP_MADE, created_at=timezone.now() - timedelta(2))])
    assert found(backup) == "audit.W003 Last made 2\N{NO-BREAK SPACE}days ago."
    call_command("record_backup", "12 bytes of database,\n3 files", stdout=StringIO())
    assert found(backup) == "audit.I003 Last made just now."


def test_laptop_is_told_nothing_of_what_a_server_needs(
    settings: Any, monkeypatch: pytest.MonkeyPatch, desk: Client, ada: Client
) -> None:
    """An admin reads of housekeeping too: without it, invitations do not arrive."""
    settings.ON_LAPTOP = settings.COUNT_IN_PROCESS = True
    settings.AUDIT_PUBLIC_KEYS = []
    unsealed = "audit log (not sealed)"
    with webhooks.delivering(HOUSEKEEPING):
        assert "All is well." in body(desk.get(PAGE))
        html = body(desk.get(START))
        assert ("All is well." in html, unsealed in html) == (True, True)
        assert "audit log" not in body(ada.get(START))
    settings.ON_LAPTOP = False
    monkeypatch.setattr(health, "KEPT", timedelta(0))
    html = body(desk.get(PAGE))
    assert "Rate limit: Each process counts requests" in html
    assert "Backup: Never made." in html
    missing = "Housekeeping: No process sends e-mails, or deletes what is old. This is for the serv"
    assert missing in text_of(body(ada.get(START)))


def test_pages_say_once_and_in_plain_words_that_object_storage_does_not_respond(
    desk: Client,
    acme: Tenant,
    way_to_storage: Proxy,
    housekeeping: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only System has the words of its client too. An admin need not do anything."""
    monkeypatch.setattr(health, "KEPT", timedelta(0))
    ada = staff.signed_in(acme.admin)
    text = "Downloads and imports fail, since object storage is out of reach."
    well = "documents' files, housekeeping."
    start = unescape(text_of(body(ada.get(START))))
    assert (text in start, well in start) == (False, True)
    way_to_storage.refuse()
    start = unescape(text_of(body(ada.get(START))))
    for_others = f"{text} This is for the service’s operators: you need not do anything."
    assert (for_others in start, well in start) == (True, False)
    reason = "object storage was out of reach"
    refused(status=503, reason=reason, workspace_id=acme.workspace.pk)
    assert "Requests failed" not in body(ada.get(START))  # one fault is one line
    start, system = body(desk.get(START)), body(desk.get(PAGE))
    assert start.count(text) == 1
    assert system.count(text) == 2  # the second time in its part's row
    assert "endpoint URL" not in start
    assert system.count("Could not connect to the endpoint URL") == 1
    way_to_storage.restore()
    start = unescape(text_of(body(ada.get(START))))
    over = "Requests failed just now with status 503 . It works again: nothing to do."
    assert (over in start, well in start) == (True, True)
    assert "errors of the last 5 minutes" not in start


@pytest.mark.usefixtures("transactional_db")  # the checks have a thread of their own
def test_file_that_a_download_did_not_get_is_missed_until_it_is_there_again(
    acme: Tenant, umbrella: Tenant, desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By operators, support staff and admins of its workspace, though object storage responds."""
    monkeypatch.setattr(health, "KEPT", timedelta(0))
    clients = [*map(staff.signed_in, (umbrella.admin, acme.admin, staff.support())), desk]
    document = factories.document(acme.workspace, title="Lost")
    key = document.original.object_key
    content = b"".join(storage.read(key))
    storage.delete([key])
    path = f"/api/v1/documents/{document.pk}/download"
    reason = f"object storage: object {key}: HTTP 404"
    at = timezone.now() - timedelta(hours=2)
    refused(status=503, reason=reason, path=path, workspace_id=acme.workspace.pk, created_at=at)
    outage: Any = {"status": 503, "reason": "object storage was out of reach", "created_at": at}
    refused(9, **outage, path=lambda number: f"/api/v1/documents/{factories.uid(number)}/download")
    refused(**outage, path=path, workspace_id=umbrella.workspace.pk)
    lost = "Downloads of Lost fail at present : a file cannot be read. Operators have to act"
    missing = f"Files cannot be read: the original one of document {document.pk}, of Acme."
    assert f'{page_of(document)}">Lost</a> fail at present' in body(desk.get(START))
    assert "</a> fail at present" in body(clients[1].get(page_of(document)))
    assert "at present" not in body(clients[1].get(page_of(factories.document(acme.workspace))))
    pages = [unescape(text_of(body(each.get(START)))) for each in clients]
    assert not any("documents' files" in page for page in pages)
    assert "errors of the last 5 minutes" not in pages[1]
    assert [lost in page for page in pages] == [False, True, True, True]
    assert [missing in page for page in pages] == [False, False, True, True]
    storage.save(io.BytesIO(content), key)
    pages = [unescape(text_of(body(each.get(START)))) for each in clients]
    assert all("documents' files" in page for page in pages)
    assert [each for each in pages if lost in each or missing in each] == []


def test_pages_name_the_part_that_is_silent_and_keep_what_was_found_before(
    desk: Client, acme: Tenant, way_to_storage: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the time when it was found. Nothing is called well."""
    monkeypatch.setattr(health, "KEPT", timedelta(0))
    monkeypatch.setattr(health, "WAIT_SECONDS", 3.0)
    ada = staff.signed_in(acme.admin)
    [at] = re.findall("found at <time.+?>", body(desk.get(PAGE)))
    silent = r"Downloads and imports may fail\. There has been no response for \d seconds\. +"
    way_to_storage.silence()
    for user, url, acts in (
        (desk, PAGE, "See whether it runs"),
        (desk, START, "See whether it runs"),
        (ada, START, "This is for the service’s operators"),
    ):
        html = body(user.get(url))
        said = unescape(text_of(html))
        assert re.search(silent + acts, said), said
        assert "The checks are running" in said
        assert " is well" not in said
        assert (at in html) == ("PostgreSQL" in said) == (url == PAGE)
        assert "The bucket is" not in said
    checks.asked[health._NAME] = "rate limit", time.monotonic()  # the run goes on
    assert re.search(silent, unescape(text_of(body(ada.get(START)))))
    way_to_storage.refuse()
    assert eventually(lambda: health._last is not None and health._last.done())
    way_to_storage.restore()
    way_to_storage.silence()
    said = unescape(text_of(body(desk.get(START))))
    assert "The checks are running" in said
    assert "Downloads and imports fail, since object storage is out of reach." in said
    way_to_storage.restore()


@pytest.mark.parametrize("wrong", [False, True])
def test_all_that_checks_say_are_sentences(
    db: None, settings: Any, way_to_storage: Proxy, wrong: bool
) -> None:
    """What a library says of an error follows ours."""
    if wrong:
        settings.REDIS_URL, settings.COUNT_IN_PROCESS = f"redis://{HOST}:9/0", False
        settings.AUDIT_PUBLIC_KEYS = ["x"]
        way_to_storage.refuse()
    found = run_checks(None, [Tags.database], True, ["default"])
    said = [text for each in found for text in (each.msg, each.hint) if text]
    assert [text for text in said if not text.endswith(".")] == []
    ours = "The check has failed."
    assert [each.id for each in found if each.msg == ours] == ["config.E003"] * wrong


@pytest.mark.usefixtures("transactional_db")
def test_check_says_whether_housekeeping_runs_and_does_its_work(tmp_path: Path) -> None:
    missing = "config.E004 No process sends e-mails, or deletes what is old."
    late = "config.W004 Sessions that have ended are still there."
    ended = {"session_data": "", "expire_date": timezone.now() - timedelta(hours=2)}
    Session.objects.create(session_key="first", **ended)
    assert missing in found(operation)
    with delivering(tmp_path / "log", "housekeeping --follow"):
        assert eventually(lambda: not Session.objects.exists())
        assert eventually(lambda: missing not in found(operation))
        assert late not in found(operation)
        Session.objects.create(session_key="second", **ended)  # it looks every ten minutes
        assert late in found(operation)
    assert eventually(lambda: missing in found(operation))


@pytest.mark.slow
@pytest.mark.usefixtures("transactional_db")
def test_check_names_the_session_that_others_wait_for(desk: Client, settings: Any) -> None:
    url = url_of(settings.DATABASES["default"]["NAME"])
    with psycopg.connect(url) as first, psycopg.connect(url) as second:
        first.execute("SET application_name = 'a careless script'")
        first.execute("LOCK TABLE documents_document")
        waiting = threading.Thread(target=second.execute, args=["TABLE documents_document"])
        waiting.start()
        who = f"pid {first.info.backend_pid} (documents_owner, a careless script, idle in "
        assert eventually(lambda: who in found(operation))
        assert f"pg_terminate_backend({first.info.backend_pid})" in body(desk.get(PAGE))
        first.rollback()
        waiting.join()
    assert "A transaction" not in found(operation)


@pytest.mark.usefixtures("transactional_db")
def test_check_and_a_metric_name_a_transaction_that_writes_in_another_database(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It holds back the events; one that only reads does not."""
    monkeypatch.setattr(checks, "LONG", timedelta(0))

    def held() -> float:
        return monitoring.read_status().held

    with psycopg.connect(url_of("postgres")) as elsewhere:
        who = f"pid {elsewhere.info.backend_pid} (documents_owner, idle in transaction, database p"
        elsewhere.execute("SELECT 1")
        assert who not in found(operation)
        assert eventually(lambda: held() == 0)
        elsewhere.execute("SELECT pg_current_xact_id()")
        assert f"config.W004 A transaction of {who}" in found(operation)
        assert 0 < held() < 60


def test_system_page_is_for_operators_alone(acme: Tenant) -> None:
    assert Client().get(PAGE).status_code == 302
    for user in (acme.admin, staff.support()):
        client = staff.signed_in(user)
        refused = client.get(PAGE)
        assert refused.status_code == 403
        assert f"You are signed in as {user}. Your account may not" in text_of(body(refused))
        assert PAGE not in body(client.get(START))


def test_system_page_has_the_findings_of_the_checks_problems_first(desk: Client) -> None:
    html = body(desk.get(PAGE))
    assert "Documents&#x27; files</th><td>Object storage writes" in html
    found = html.index("What was found at <time ")
    assert html.index("Backup: Never") < found < html.index("PostgreSQL 1")
    assert PAGE in body(desk.get(START))


def test_start_page_and_system_say_that_all_is_well_only_from_the_checks(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have the last result for 15 seconds; while checks wait for a service, little is said.

    Only pages of their first seconds wait for them. The log shows what they have found of it.
    Support staff read the errors, without what an operator does about them.
    """
    wrong, well = "Deliveries are not sent.", "All is well"
    found: list[CheckMessage] = [
        Error(wrong, "Start the worker.", "webhooks"),
        Warning("No backup", "", "backup"),
    ]
    sam = staff.signed_in(staff.support())
    end = threading.Event()

    def said(url: str) -> list[bool]:
        return [text in body(desk.get(url)) for text in (wrong, well, "checks are running")]

    end.set()
    monkeypatch.setattr(health, "run_checks", lambda *_: end.wait(10) and found)
    assert said(PAGE) == said(START) == [True, False, False]
    assert "Start the worker." in body(desk.get(START))
    seen = body(sam.get(START))
    for text, is_said in (
        (wrong, True),
        ("An operator has to act.", True),
        (well, False),
        ("Start the worker.", False),
        ("No backup", False),
    ):
        assert (text in seen) == is_said, text
    found[:] = [Info("PostgreSQL", "", "database")]
    assert said(PAGE) == said(START) == [True, False, False]
    monkeypatch.setattr(health, "KEPT", timedelta(0))
    assert said(PAGE) == said(START) == [False, True, False]
    for finding, is_well in (
        (Info("It is not sealed.", "", "audit log (not sealed)"), True),
        (Error("A trigger is missing.", "", "audit log"), False),
    ):
        found.append(finding)
        assert ("audit log (not sealed)" in body(desk.get(START))) == is_well
    found[:] = [Info("PostgreSQL", "", "database")]
    monkeypatch.setattr(health, "WAIT_SECONDS", 0.1)
    end.clear()
    assert said(PAGE) == [False, False, True]
    monkeypatch.setattr(health, "WAIT_SECONDS", PATIENCE)
    assert said(START) == said(HISTORY) == [False, False, True]
    end.set()
    assert health._last
    health._last.result()
    assert well in body(sam.get(START))
    found[:] = [Error(wrong, "", "webhooks")]
    assert said(START) == [True, False, False]
    assert said(HISTORY) == [False, False, False]
    monkeypatch.setattr(health, "WAIT_SECONDS", 0.1)
    end.clear()
    assert said(PAGE) == said(START) == [True, False, True]
    end.set()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [("-c", "import config.wsgi"), ("manage.py", "check"), ("manage.py", "deliver_webhooks")],
)
def test_nothing_serves_without_a_secret_key(words: tuple[str, str]) -> None:
    variables = {**os.environ, "SECRET_KEY": " ", "DATA_DIR": "/nowhere"}
    variables["DATABASE_URL"] = "postgresql://documents:x@127.0.0.1:9/documents"
    command = [sys.executable, *words]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert (done.returncode, "SECRET_KEY is not set." in done.stderr) == (1, True)
