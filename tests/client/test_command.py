"""The command dtd: what it prints, where its key comes from, and its exit status."""

import csv
import inspect
import json
import os
import pty
import re
import signal
import subprocess
import sys
from collections.abc import Generator
from io import BytesIO, StringIO, TextIOWrapper
from types import SimpleNamespace
from unittest.mock import patch

import dtd
import dtd.command
import pytest
from dtd import models

from apikeys.models import ApiKey
from config.ports import free_port
from documents.models import Document
from tests.support import factories
from tests.support.cast import hardest_to_find, settled
from tests.support.examples import Examples, Requests
from tests.support.factories import Tenant
from tests.support.processes import read_terminal
from tests.support.proxy import HOST, Proxy
from tests.support.receiver import Receiver
from tests.support.server import ROOT, eventually
from tests.support.webhooks import SECRET

COMMANDS = [run.__name__ for run in dtd.command.COMMANDS]
NOTHING = "Nothing found.\n"


def test_dtd_me_names_the_workspace_and_the_key(examples: Examples, acme: Tenant) -> None:
    header, row = examples.run("dtd", "me").splitlines()
    assert header.split() == ["WORKSPACE", "KEY", "DRAFT", "SENT", "COMPLETED", "ID"]
    assert row.split() == ["Acme", "Acme", "sync", "0", "0", "0", str(acme.workspace.id)]
    assert json.loads(examples.run("dtd", "me", "--json"))["key"]["name"] == "Acme sync"


def test_dtd_ls_prints_a_table_json_or_csv(examples: Examples, acme: Tenant) -> None:
    factories.document(acme.workspace, "DRAFT", title="Draft")
    lease = factories.document(acme.workspace, "COMPLETED", title="=Lease \x1b[31m№ 5" + 50 * "x")
    header, row = examples.run("dtd", "ls", "--status", "COMPLETED").splitlines()
    assert header.split() == ["ID", "STATUS", "SIGNED", "CREATED", "COMPLETED", "TITLE"]
    assert row.startswith(f"{lease.id}  COMPLETED  0/0     ")
    assert row.endswith("2026-03-03  =Lease  [31m№ 5" + 25 * "x")
    first, second = examples.run("dtd", "ls", "--json").splitlines()
    assert json.loads(first) == json.loads(acme.get(f"/documents/{lease.id}").body)["data"]
    assert json.loads(second)["title"] == "Draft"
    rows = list(csv.DictReader(StringIO(examples.run("dtd", "ls", "--csv"))))
    assert [row["title"] for row in rows] == [f"'{lease.title}", "Draft"]
    for _ in range(2):
        with (examples.folder / "file").open("a") as file:
            words = [sys.executable, "-m", "dtd", "ls", "--csv"]
            subprocess.run(words, env=examples.environment, stdout=file, check=True)
    text = (examples.folder / "file").read_text()
    assert (text.index("\ufeff"), text.count("\ufeff")) == (0, 1)  # where Excel needs it, only
    assert len(examples.run("dtd", "ls", "--limit", "1").splitlines()) == 2
    assert "The query parameter 'limit'" in examples.run("dtd", "ls", "--limit", "-1", status=3)
    assert examples.run("dtd", "ls", "--status", "EXPIRED") == NOTHING


def test_dtd_search_has_each_parameter_of_the_api_and_prints_as_ls_does(
    examples: Examples, acme: Tenant
) -> None:
    described = json.loads((ROOT / "docs" / "openapi.json").read_text())
    parameters = described["paths"]["/api/v1/search"]["get"]["parameters"]
    names = {each["name"] for each in parameters if each["in"] == "query"} - {"cursor"}
    printed = examples.run("dtd", "search", "--help")
    options = set(re.findall(r"^  --([\w-]+)", printed, re.MULTILINE))
    common = {"key-file", "insecure", "json", "csv"}
    assert {models.camel(each.replace("-", "_")) for each in options - common} == names
    lease = factories.document(acme.workspace, "COMPLETED", title="Lease")
    factories.document(acme.workspace, "SENT", title="Offer")
    printed = examples.run("dtd", "search", "--title", "lea", "--completed-from", "2026-03-01")
    assert [row.split()[0] for row in printed.splitlines()] == ["ID", str(lease.id)]
    both = ("--status", "SENT", "--status", "COMPLETED")
    assert len(examples.run("dtd", "search", *both, "--csv").splitlines()) == 3
    assert len(examples.run("dtd", "search", *both, "--limit", "1", "--json").splitlines()) == 1


@pytest.mark.parametrize("words", ["search --title lease-offer --csv", "waiting --csv"])
def test_dtd_needs_one_request_where_one_page_is_enough(
    examples: Examples, acme: Tenant, words: str
) -> None:
    document = hardest_to_find(acme)
    requests = Requests(examples.server)
    printed = examples.run("dtd", *words.split())
    assert [str(document.id) in line for line in printed.splitlines()] == [False, True]
    assert requests() == ["search 200"]


def test_dtd_get_shows_a_document_or_downloads_it(examples: Examples, acme: Tenant) -> None:
    lease = factories.document(acme.workspace, "COMPLETED")
    assert json.loads(examples.run("dtd", "get", str(lease.id)))["id"] == str(lease.id)
    printed = examples.run("dtd", "get", str(lease.id), "--to", ".", "--type", "certificate")
    assert printed == "agreement – certificate.pdf\n"
    assert (examples.folder / printed.strip()).read_bytes().startswith(b"%PDF")


def test_dtd_replaces_a_tilde_by_the_home_folder(examples: Examples, acme: Tenant) -> None:
    home = examples.folder / "home"
    home.mkdir()
    examples.environment["HOME"] = str(home)
    lease = factories.document(acme.workspace, "COMPLETED")
    (home / "key").write_text(acme.raw)
    (home / "key").chmod(0o600)
    examples.run("dtd", "get", str(lease.id), "--to", "~/new/a.pdf", "--key-file=~/key")
    assert eventually(settled)
    examples.run("dtd", "pull", "~/archive", "--state", "~/state")
    assert len(list((home / "archive").iterdir())) == 2
    examples.environment["SSL_CERT_FILE"] = "~/none"
    assert "SSL_CERT_FILE is ~/none: No such file" in examples.run("dtd", "me", status=2)
    with patch.dict(os.environ, examples.environment):
        given = dtd.command.parser().parse_args(["verify", "~/a", "--key", "k", "--file=~/b"])
    assert (given.evidence, given.file) == (f"{home}/a", [f"{home}/b"])
    assert sorted(file.name for file in home.iterdir()) == ["archive", "key", "new", "state"]
    assert list(examples.folder.iterdir()) == [home]
    for option in ("--key-file", "--to"):
        assert f"argument {option}: it is empty" in examples.run(
            "dtd", "get", "a", option, "", status=2
        )


@pytest.fixture
def key_file(examples: Examples, acme: Tenant) -> str:
    file = examples.folder / "key"
    file.write_text(f"{acme.raw}\n")
    file.chmod(0o600)
    del examples.environment["DTD_API_KEY"]
    return "key"


def test_dtd_takes_the_key_from_a_private_file(examples: Examples, key_file: str) -> None:
    assert "Acme" in examples.run("dtd", "me", "--key-file", key_file)
    (examples.folder / key_file).chmod(0o640)
    printed = examples.run("dtd", "me", "--key-file", key_file, status=2)
    ways = "chmod 600 key, or --key-file - <key"
    assert printed == f"dtd: Other users may read key, which has a key: {ways}\n"
    printed = examples.run("dtd", "me", "--key-file", "none", status=1)
    assert printed == "dtd: none: No such file or directory\n"


def test_dtd_takes_a_mounted_secret_that_others_may_read(
    examples: Examples, key_file: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (examples.folder / key_file).chmod(0o444)
    examples.run("dtd", "me", "--key-file", key_file, status=2)
    with monkeypatch.context() as mounted:
        mounted.setattr("dtd.command.SECRETS", examples.folder)
        examples.run("dtd", "me", "--key-file", str(examples.folder / key_file))
    found = os.statvfs(examples.folder)
    read_only = SimpleNamespace(f_flag=found.f_flag | os.ST_RDONLY)
    monkeypatch.setattr("os.statvfs", lambda path: read_only)
    examples.run("dtd", "me", "--key-file", key_file)


def test_dtd_takes_the_key_from_standard_input(
    examples: Examples, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for typed, status in ((f"{acme.raw}\n", 0), (f"\ufeff{acme.raw}\r\n", 0), ("", 2), ("\n", 2)):
        monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(typed.encode())))
        examples.run("dtd", "me", "--key-file", "-", status=status)


def test_dtd_refuses_a_key_as_an_argument(examples: Examples, acme: Tenant) -> None:
    for words in (["--key", acme.raw], ["--api-key", acme.raw]):
        printed = examples.run("dtd", "me", *words, status=2)
        assert printed.endswith(f"unrecognized arguments: {words[0]} dtd_…\n")


def test_dtd_prints_errors_as_one_sentence_with_the_request_id(
    examples: Examples, acme: Tenant, freebie: Tenant
) -> None:
    printed = examples.run("dtd", "get", str(factories.uid(9)), status=3)
    assert re.fullmatch(
        r"dtd: There is no such document in this workspace\. \(Request-Id [0-9a-f]{32}\)\n", printed
    )
    examples.environment["DTD_API_KEY"] = freebie.raw
    assert "plan" in examples.run("dtd", "ls", status=3)
    examples.environment["DTD_API_KEY"] = "dtd_wrong"
    assert "A valid API key is required." in examples.run("dtd", "waiting", status=3)


def test_dtd_prints_all_letters_whatever_the_output_can_encode(
    examples: Examples, acme: Tenant
) -> None:
    title = "Договір – 契約 \x7f\x9b"
    lease = factories.document(acme.workspace, "COMPLETED", title=title)
    examples.environment["PYTHONIOENCODING"] = "cp1252"
    for words in (["ls"], ["ls", "--csv"], ["ls", "--json"], ["get", str(lease.id)]):
        command = [sys.executable, "-m", "dtd", *words]
        done = subprocess.run(
            command, cwd=examples.folder, env=examples.environment, capture_output=True
        )
        assert (done.returncode, done.stderr) == (0, b""), words
        assert "Договір – 契約" in done.stdout.decode()
    assert json.loads(done.stdout)["title"] == lease.title


def test_dtd_prints_no_control_characters_to_a_terminal(examples: Examples, acme: Tenant) -> None:
    title = "Lease\x1b]0;\x07\x7f\x9b\u202e"
    lease = factories.document(acme.workspace, "COMPLETED", title=title, file_name=f"{title}.pdf")
    lines = (["ls"], ["ls", "--csv"], ["ls", "--json"], ["get", str(lease.id)])
    for words in (*lines, ["get", str(lease.id), "--to", "."]):
        ours, theirs = pty.openpty()
        command = [sys.executable, "-m", "dtd", *words]
        env = examples.environment | {"PYTHONIOENCODING": "utf-8"}
        subprocess.run(command, cwd=examples.folder, env=env, stdout=theirs, check=True)
        os.close(theirs)
        text = re.sub("[\r\n]", "", read_terminal(ours).decode())
        assert "Lease" in text
        assert text.isprintable(), words


def test_dtd_says_what_is_missing_or_out_of_reach(examples: Examples) -> None:
    examples.environment["DTD_BASE_URL"] = f"http://{HOST}:{free_port()}"
    printed = examples.run("dtd", "me", status=1)
    assert re.search(r"refused\. Waiting 1 s\.\n", printed)
    assert printed.splitlines()[-1].endswith("/api/v1/me: [Errno 111] Connection refused.")
    examples.environment["DTD_API_KEY"] = ""
    assert examples.run("dtd", "me", status=2).startswith("dtd: There is no key")


def test_readme_names_each_command() -> None:
    text = (ROOT / "client/README.md").read_text()
    named = re.findall(r"^\| `(?:eval \"\$\()?dtd (\w+)", text, re.MULTILINE)
    assert named == ["me", "ls", *COMMANDS[1:]]


def test_dtd_imports_no_http_library_for_its_help() -> None:
    script = (
        "import sys; from dtd.command import parser; parser(); "
        "print(*({'httpx', 'boto3', 'argcomplete', 'standardwebhooks'} & sys.modules.keys()))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT / "client", capture_output=True, text=True
    )
    assert (run.stdout, run.stderr) == ("\n", "")


def complete(document: Document) -> None:
    document.signed = document.certificate = factories.stored(b"signed")
    document.status, document.completed_at = "COMPLETED", factories.at("2026-03-03 00:00:00")
    document.save()
    assert eventually(settled)


def test_dtd_watch_prints_events_as_they_come(examples: Examples, acme: Tenant) -> None:
    lease = factories.document(acme.workspace, "SENT")
    assert eventually(settled)
    with dtd.Client(acme.raw, examples.environment["DTD_BASE_URL"]) as client:
        events = client.events(after="now")
        assert list(events) == []
    process = examples.start("dtd", "watch", "--after", events.cursor or "")
    assert process.stdout is not None
    complete(lease)
    assert process.stdout.readline().split()[1:] == ["document.completed", str(lease.id)]
    process.send_signal(signal.SIGINT)
    printed, log = process.communicate(timeout=30)
    assert printed == ""
    after = re.fullmatch(r"To go on from here: --after (\S+)\ndtd: Interrupted\.\n", log)
    assert after
    assert process.returncode == 130
    process = examples.start("dtd", "watch", "--after", after[1])
    complete(factories.document(acme.workspace, "SENT"))
    assert process.stdout is not None
    assert any("document.created" in line for line in process.stdout)  # none is skipped
    process.terminate()
    assert "To go on from here" in process.communicate(timeout=30)[1]
    assert process.returncode == -signal.SIGTERM


def test_dtd_watch_goes_on_after_an_outage_and_ends_after_a_refusal(
    examples: Examples, acme: Tenant
) -> None:
    front = Proxy(examples.environment["DTD_BASE_URL"])
    examples.environment["DTD_BASE_URL"] = front.url

    def story() -> Generator[None]:
        yield
        front.refuse()
        complete(factories.document(acme.workspace, "SENT"))
        while sum(examples.waits) < 600:
            yield
        front.restore()
        front.alter = lambda block: b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
        yield
        front.restore()
        yield
        ApiKey.objects.filter(pk=acme.key.pk).update(revoked_at=factories.at("2026-03-03 00:00:00"))
        while True:
            yield

    steps = story()
    examples.during_wait = lambda: inspect.getgeneratorstate(steps) == "GEN_RUNNING" or next(steps)
    try:
        printed = examples.run("dtd", "watch", "--type", "document.completed", status=3)
    finally:
        front.stop()
    assert "Connection refused. Trying again.\n" in printed
    assert "responded with 502. Trying again.\n" in printed
    assert len(re.findall(r"^\d{4}-\S+  document\.completed ", printed, re.MULTILINE)) == 1
    *_, cursor, end = printed.splitlines()
    assert cursor.startswith("To go on from here: --after ")
    assert end.startswith("dtd: A valid API key is required.")


def test_dtd_listen_forwards_events_signed_like_webhooks(
    examples: Examples, acme: Tenant, receiver: Receiver
) -> None:
    examples.environment["DTD_WEBHOOK_SECRET"] = SECRET
    lease = factories.document(acme.workspace, "SENT")
    assert eventually(settled)
    requests = Requests(examples.server)
    process = examples.start("dtd", "listen", "--forward", receiver.url("/204"))
    assert process.stdout is not None
    assert eventually(lambda: "events 200" in requests())
    complete(lease)
    assert process.stdout.readline() == f"document.completed {lease.id}: 204\n"
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    [received] = receiver.received
    event = dtd.webhooks.unwrap(received.body, received.headers, SECRET)
    assert (event.type, event.data.id) == ("document.completed", str(lease.id))
