"""dtd pull: copies every completed agreement once, whatever happens."""

import errno
import fcntl
import hashlib
import os
import re
import signal
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage

from documents import storage
from documents.models import Document
from events.models import Generation
from tests.support import factories
from tests.support.cast import downloads, settled
from tests.support.examples import Examples, Requests
from tests.support.factories import Tenant, at
from tests.support.nginx import make_certificate
from tests.support.proxy import HOST, Proxy
from tests.support.server import eventually

TITLES = [
    "Lease",
    "Lease",
    "../../etc/passwd",
    'CON: a "b" <c> | d? * \\',
    "line\nend\x1b[31m",
    "Договор поставки № 64",
    "契約書" * 60,
    "🖋",
    ".",
    "…",
]
KINDS = ("signed", "certificate")
NOTHING_NEW = "0 new files.\n"
# An old cron job has none; Python must not replace it by one of its own.
NO_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.fixture
def agreements(acme: Tenant, umbrella: Tenant) -> list[Document]:
    """Acme's completed documents; the workspace has others, too."""
    factories.document(umbrella.workspace, "COMPLETED")
    factories.document(acme.workspace, "COMPLETED", deleted_at=at("2026-03-04 00:00:00"))
    for status in ("DRAFT", "SENT", "PARTIALLY_SIGNED", "DECLINED"):
        factories.document(acme.workspace, status)
    made = [factories.document(acme.workspace, "COMPLETED", title=title) for title in TITLES]
    assert eventually(settled)
    return made


Copies = dict[tuple[str, str], str]  # document and kind → SHA-256


def wanted(documents: list[Document]) -> Copies:
    return {
        (str(document.id), kind): getattr(document, kind).sha256
        for document in documents
        for kind in KINDS
    }


def copies(folder: Path) -> Copies:
    """The copies in a folder, which has only the state and whole files, each once."""
    return in_names({file.name: file.read_bytes() for file in folder.iterdir()})


def in_names(contents: dict[str, bytes]) -> Copies:
    contents.pop("SHA256SUMS", None)
    found = {}
    for name, content in contents.items():
        words = re.fullmatch(r"2026-03-03 .+ (\S{36}) (signed|certificate)\.pdf", name)
        assert words, name
        found[words[1], words[2]] = hashlib.sha256(content).hexdigest()
    assert len(found) == len(contents)
    return found


def checked(folder: Path) -> bool:
    """Whether sha256sum finds each file that the state lists, unchanged."""
    words = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    return subprocess.run(words, cwd=folder, capture_output=True).returncode == 0


def complete(document: Document) -> Document:
    """Completes a document, as the rest of the service does."""
    document.signed, document.certificate = (
        factories.stored(f"{document.id} {kind}".encode()) for kind in KINDS
    )
    document.status, document.completed_at = "COMPLETED", at("2026-03-03 00:00:00")
    document.save()
    return document


def test_pull_copies_all_agreements_in_any_locale_and_nothing_in_a_second_run(
    examples: Examples, agreements: list[Document]
) -> None:
    examples.environment |= NO_LOCALE
    assert "20 new files.\n" in examples.start("dtd", "pull", "here").communicate()[1]
    assert copies(examples.folder / "here") == wanted(agreements)
    assert checked(examples.folder / "here")
    requests = Requests(examples.server)
    assert examples.run("dtd", "pull", "here") == NOTHING_NEW
    assert requests() == ["events 200"]


def test_pull_reads_only_the_documents_that_the_events_name(
    examples: Examples, agreements: list[Document], acme: Tenant
) -> None:
    examples.run("dtd", "pull", "here")
    old = at("2020-01-01 00:00:00")
    new = [complete(factories.document(acme.workspace, "SENT", created_at=old)) for _ in range(3)]
    gone, reverted = complete(new.pop()), factories.document(acme.workspace, "COMPLETED")
    gone.deleted_at = at("2026-03-04 00:00:00")
    gone.save()
    reverted.status = "SENT"
    reverted.save()
    assert eventually(settled)
    requests = Requests(examples.server)
    assert examples.run("dtd", "pull", "here") == "4 new files.\n"
    assert requests() == [
        "events 200",
        *["{id} 200", "download 200", "download 200"] * 2,
        "{id} 404",
        "{id} 200",
        "events 200",
    ]
    complete(reverted)
    assert eventually(settled)
    assert examples.run("dtd", "pull", "here") == "2 new files.\n"
    assert copies(examples.folder / "here") == wanted([*agreements, *new, reverted])


DAMAGED: dict[str, tuple[Callable[[str], str], int]] = {
    "half a cursor": (lambda state: state[:-100], 0),
    "a line less": (lambda state: "\n".join([*state.split("\n")[:3], *state.split("\n")[4:]]), 1),
    "line ends of Windows": (lambda state: state.replace("\n", "\r\n"), 0),
    "sorted": (lambda state: "\n".join(sorted(state.split("\n"), reverse=True)), 0),
    "another program": (
        lambda state: re.sub("(?m)^([^ #]+)  ", lambda m: f"{m[1].upper()} *", state),
        0,
    ),
    "zeros after a power cut": (lambda state: "\0" * 4096, 20),
}


def test_pull_lists_all_documents_if_its_state_is_damaged_or_too_old(
    as_owner: None, examples: Examples, agreements: list[Document]
) -> None:
    examples.run("dtd", "pull", "here")
    state = examples.folder / "here" / "SHA256SUMS"
    for damage, (change, new) in DAMAGED.items():
        state.write_text(change(state.read_text()))
        requests = Requests(examples.server)
        assert examples.run("dtd", "pull", "here") == f"{new} new files.\n", damage
        listing = ["events 200", "me 200", "documents 200", *["download 200"] * new]
        assert requests() == listing, damage
        assert copies(examples.folder / "here") == wanted(agreements), damage
        assert examples.run("dtd", "pull", "here") == NOTHING_NEW, damage
        assert requests()[3 + new :] == ["events 200"], damage
    Generation.objects.create()  # the database was restored
    requests = Requests(examples.server)
    printed = examples.run("dtd", "pull", "here")
    assert printed.endswith(" Listing all agreements.\n0 new files.\n")
    assert requests() == ["events 410", "events 200", "me 200", "documents 200"]


def test_pull_refuses_a_key_of_another_workspace_in_the_same_folder(
    examples: Examples, agreements: list[Document], umbrella: Tenant, acme: Tenant
) -> None:
    examples.run("dtd", "pull", "here")
    folder, own = examples.folder / "here", examples.environment["DTD_API_KEY"]
    examples.environment["DTD_API_KEY"] = umbrella.raw
    for _ in range(2):
        printed = examples.run("dtd", "pull", "here", status=1)
        assert printed.endswith(
            f"here/SHA256SUMS is of the workspace {acme.workspace.id}, and this key is of "
            f"{umbrella.workspace.id} (Umbrella). Choose another TARGET for it, or another "
            "--state.\n"
        )
    assert copies(folder) == wanted(agreements)
    examples.environment["DTD_API_KEY"] = own
    assert examples.run("dtd", "pull", "here") == NOTHING_NEW


def test_pull_does_nothing_while_another_run_copies(
    examples: Examples, agreements: list[Document]
) -> None:
    folder = examples.folder / "here"
    folder.mkdir()
    with (folder / "SHA256SUMS").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        requests = Requests(examples.server)
        assert examples.run("dtd", "pull", "here", status=75) == (
            "Another run uses here/SHA256SUMS, so this one copies nothing.\n"
        )
        assert requests() == []
        assert [file.stat().st_size for file in folder.iterdir()] == [0]
    examples.run("dtd", "pull", "here")
    assert copies(folder) == wanted(agreements)


# Forks a process for each of STEPS; each kills itself before its Nth step with a file there.
KILLER = """
import os, signal, sys
import httpx
from dtd.command import main
steps = range(1, int(sys.argv[1]) + 1)

def run(step):
    left = step
    def hook(event, args):
        nonlocal left
        if event in ("open", "os.mkdir", "os.rename", "os.truncate") and "copies" in str(args[0]):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    try:
        main(["pull", f"copies {step}"])
    except SystemExit as exc:
        os._exit(exc.code)
    finally:
        os._exit(1)

children = [os.fork() or run(step) for step in steps]
print(*[os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children])
"""


def test_pull_killed_before_each_step_with_a_file_is_completed_by_the_next_run(
    examples: Examples, acme: Tenant
) -> None:
    done: list[Document] = []
    steps = 15
    for _ in range(2):  # a first run, and one that goes on where the last one ended
        done.append(complete(factories.document(acme.workspace, "SENT")))
        assert eventually(settled)
        before = len(downloads())
        killed = subprocess.run(
            [sys.executable, "-c", KILLER, str(steps)],
            cwd=examples.folder,
            env=examples.environment,
            capture_output=True,
            text=True,
        )
        # The last one survived: there are no more steps.
        expected = [-signal.SIGKILL] * (steps - 1) + [0]
        assert killed.stdout.split() == [str(int(code)) for code in expected], killed.stderr

        for step in range(1, steps + 1):
            target = examples.folder / f"copies {step}"
            there = {file.name: file.read_bytes() for file in target.glob("*.pdf")}
            assert in_names(there).items() <= wanted(done).items()
            examples.run("dtd", "pull", f"copies {step}")
            assert copies(target) == wanted(done)
            assert checked(target)
            assert (target / "SHA256SUMS").read_text().count(".pdf\n") == 2 * len(done)
        assert len(downloads()) - before <= 2 * steps + steps - 1


ARCHIVED = b"""HTTP/1.1 409 Conflict\r\nError-Code: file_archived\r\nContent-Length: 28\r\n\r
{"error":"It is archived."} """


def test_pull_copies_the_others_if_a_file_arrives_damaged_or_any_number_are_archived(
    examples: Examples, acme: Tenant
) -> None:
    bad = factories.document(acme.workspace, "COMPLETED", certificate=factories.stored(b"evil" * 9))
    good = factories.document(acme.workspace, "COMPLETED")
    archived = [
        factories.document(acme.workspace, "COMPLETED", file_name="Archived.pdf") for _ in range(6)
    ]

    def alter(block: bytes) -> bytes:
        if b"content-disposition" in block.lower() and b"Archived" in block:
            return ARCHIVED
        return block.replace(b"evil", b"live", 1)

    front = Proxy(examples.environment["DTD_BASE_URL"])
    front.alter = alter
    examples.environment["DTD_BASE_URL"] = front.url
    printed = examples.run("dtd", "pull", "here", status=1)
    assert f"{bad.id} certificate.pdf: " in printed
    assert printed.count("It is archived.") == 12
    assert "Not copied: 13. The next run tries again." in printed
    kept = wanted([bad, good])
    del kept[str(bad.id), "certificate"]
    assert copies(examples.folder / "here") == kept
    front.restore()
    assert examples.run("dtd", "pull", "here") == "13 new files.\n"
    assert copies(examples.folder / "here") == wanted([bad, good, *archived])
    front.stop()


def test_pull_fits_names_to_its_folder_and_goes_on_after_a_file_that_this_refuses(
    examples: Examples, agreements: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    replace = os.replace

    def picky(file: Path, to: Path) -> None:
        if "Договор" in Path(to).name:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))  # as FAT does
        replace(file, to)

    monkeypatch.setattr("os.replace", picky)
    monkeypatch.setattr("os.pathconf", lambda path, name: 143)  # of encrypted home folders
    folder, victim = examples.folder / "here", examples.folder / "victim"
    folder.mkdir()
    victim.write_text("mine")
    refused = [folder / f".{each.id}-signed.part" for each in agreements[:2]]
    refused[0].mkdir()
    refused[1].symlink_to(victim)
    for news in (18, 0):
        printed = examples.run("dtd", "pull", "here", status=1)
        assert f"{news} new files.\nNot copied: 2." in printed
        assert re.findall(r"^\S{36} signed.pdf: (Is a|Too many)", printed, re.MULTILINE)
    assert victim.read_text() == "mine"
    refused[0].rmdir()
    refused[1].unlink()
    assert examples.run("dtd", "pull", "here").endswith("2 new files.\n")
    assert copies(folder) == wanted(agreements)  # one of them without its title
    assert max(len(os.fsencode(file.name)) for file in folder.iterdir()) <= 143


def test_pull_changes_no_snapshot_that_has_hard_links_to_its_files(
    examples: Examples, agreements: list[Document], acme: Tenant
) -> None:
    examples.run("dtd", "pull", "here")
    folder, snapshot = examples.folder / "here", examples.folder / "monday"
    new = complete(factories.document(acme.workspace, "SENT"))
    (folder / f".{new.id}-signed.part").write_bytes(b"begun")
    (folder / "SHA256SUMS").chmod(0o640)
    subprocess.run(["cp", "-al", folder, snapshot], check=True)
    before = {file.name: file.read_bytes() for file in snapshot.iterdir()}
    assert eventually(settled)
    assert examples.run("dtd", "pull", "here") == "2 new files.\n"
    assert {file.name: file.read_bytes() for file in snapshot.iterdir()} == before
    assert copies(folder) == wanted([*agreements, new])
    assert checked(folder)
    assert (folder / "SHA256SUMS").stat().st_mode & 0o777 == 0o640


LISTS_OF_OTHERS = [b"notes\nmine", b"# notes of mine\n", "# workspace 5\n".encode("utf-16")]


def test_pull_changes_no_list_of_others_and_follows_no_link(examples: Examples) -> None:
    file = examples.folder / "list"
    for content in LISTS_OF_OTHERS:
        file.write_bytes(content)
        printed = examples.run("dtd", "pull", "here", "--state", "list", status=1)
        assert printed == "dtd: list is no list of copies in UTF-8: use another --state.\n"
        assert file.read_bytes() == content
    (examples.folder / "SHA256SUMS").symlink_to(file)
    printed = examples.run("dtd", "pull", ".", status=1)
    assert printed == "dtd: SHA256SUMS: Too many levels of symbolic links\n"
    assert file.read_bytes() == content


WRONG = ["gs://bucket/a", "S3://bucket/a", "s3:/bucket/a", "s3://", "https://a.example/b"]


@pytest.mark.parametrize("words", [[""], ["here", "--sse", "aws:kms"], *([word] for word in WRONG)])
def test_pull_makes_no_folder_of_a_wrong_target(examples: Examples, words: list[str]) -> None:
    printed = examples.run("dtd", "pull", *words, status=2)
    assert "TARGET" in printed
    assert list(examples.folder.iterdir()) == []


def test_pull_ends_with_one_line_if_its_state_cannot_be_written(
    examples: Examples, agreements: list[Document], acme: Tenant
) -> None:
    state = f"# workspace {acme.workspace.id}\n# {'x' * 200_000}\n"
    (examples.folder / "state").write_text(state)
    done = subprocess.run(
        ["sh", "-c", f"ulimit -f 300; {sys.executable} -m dtd pull here --state state"],
        cwd=examples.folder,
        env=examples.environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert done.stderr.splitlines()[1:] == ["dtd: state: File too large"]
    assert (examples.folder / "state").read_text() == state
    assert "20 new files." in examples.run("dtd", "pull", "here", "--state", "state")


@pytest.fixture
def prefix() -> Iterator[str]:
    """A prefix in the tests' bucket; its objects are deleted after the test."""
    name = f"copies {uuid4().hex}/ü (1) a+b c%20d &=?#/{'契' * 30}"
    yield name
    storage.delete(f"{name}/{key}" for key in default_storage.listdir(name)[1])


@pytest.fixture
def target(examples: Examples, prefix: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The URL of `prefix`, for programs that find the credentials of the tests' S3."""
    monkeypatch.setattr("boto3.DEFAULT_SESSION", None)  # a new process has none
    examples.environment |= {
        "AWS_ENDPOINT_URL": os.environ["S3_ENDPOINT_URL"],
        "AWS_ACCESS_KEY_ID": os.environ["S3_ACCESS_KEY_ID"],
        "AWS_SECRET_ACCESS_KEY": os.environ["S3_SECRET_ACCESS_KEY"],
    }
    return f"s3://{os.environ['S3_BUCKET']}/{prefix}/"


def test_pull_copies_to_a_bucket_in_any_locale(
    examples: Examples, agreements: list[Document], prefix: str, target: str
) -> None:
    examples.environment |= NO_LOCALE
    assert "20 new files." in examples.start("dtd", "pull", target).communicate()[1]
    assert examples.run("dtd", "pull", target) == NOTHING_NEW
    [state] = examples.folder.glob("*.SHA256SUMS")
    assert len(state.name) <= 143
    contents = {}
    for name in default_storage.listdir(prefix)[1]:
        with default_storage.open(f"{prefix}/{name}") as file:
            contents[name] = file.read()
    assert in_names(contents) == wanted(agreements)


class Store(BaseHTTPRequestHandler):
    """An object storage over HTTPS that knows no chunks with checksums, as some do not."""

    protocol_version = "HTTP/1.1"
    objects: ClassVar[dict[str, bytes]] = {}
    lost = 0  # bytes at the end of each object
    digest = "{}"  # the ETag
    sse = ""  # the encryption that the bucket's policy wants

    def do_PUT(self) -> None:  # noqa: N802
        if self.headers.get("x-amz-server-side-encryption", "") != self.sse:
            self.send_error(403)
            return
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.objects[self.path] = content[: len(content) - self.lost]
        self.respond(b"")

    def do_HEAD(self) -> None:  # noqa: N802
        self.respond(self.objects[self.path])

    def respond(self, content: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        if self.sse:
            self.send_header("x-amz-server-side-encryption", self.sse)
        self.send_header("ETag", self.digest.format(hashlib.md5(content).hexdigest()))  # noqa: S324
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def store(tmp_path: Path, target: str, examples: Examples) -> Iterator[type[Store]]:
    """An object storage of its own instead of the tests' S3."""
    kind = type("OwnStore", (Store,), {"objects": {}})
    make_certificate(tmp_path / "tls")
    certificate = str(tmp_path / "tls" / "certificate.pem")
    with ThreadingHTTPServer((HOST, 0), kind) as server:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, tmp_path / "tls" / "key.pem")
        server.socket = context.wrap_socket(server.socket, server_side=True)
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        url = f"https://{HOST}:{server.server_port}"
        examples.environment |= {"AWS_ENDPOINT_URL": url, "AWS_CA_BUNDLE": certificate}
        yield kind
        server.shutdown()


@pytest.mark.parametrize(("sse", "digest"), [("AES256", "{}"), ("aws:kms", "0" * 32)])
def test_pull_asks_for_the_encryption_that_a_bucket_needs(
    examples: Examples,
    agreements: list[Document],
    target: str,
    store: type[Store],
    sse: str,
    digest: str,
) -> None:
    store.sse, store.digest = sse, digest
    printed = examples.run("dtd", "pull", target, status=1)
    assert printed.startswith(f"dtd: {target.rstrip('/')}: An error occurred (403)")
    assert printed.count("\n") == 1
    assert "20 new files." in examples.run("dtd", "pull", target, "--sse", sse)
    contents = {unquote(path).rpartition("/")[2]: body for path, body in store.objects.items()}
    assert in_names(contents) == wanted(agreements)  # without the frames of chunks


def test_pull_that_is_terminated_leaves_no_file_of_a_bucket(
    examples: Examples, agreements: list[Document], target: str, tmp_path: Path
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    examples.environment["TMPDIR"] = str(temporary)
    examples.server.store.silence()
    process = examples.start("dtd", "pull", target)
    assert eventually(lambda: list(temporary.glob("*/*.part")))
    process.terminate()
    process.communicate(timeout=30)
    examples.server.store.restore()
    assert process.returncode == -signal.SIGTERM
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize("wrong", [{"lost": 1}, {"digest": "0" * 32}])
def test_pull_counts_no_file_of_which_a_bucket_has_something_else(
    examples: Examples, agreements: list[Document], target: str, store: type[Store], wrong: Any
) -> None:
    for name, value in wrong.items():
        setattr(store, name, value)
    printed = examples.run("dtd", "pull", target, status=1)
    assert printed.count("is not what was sent there.") == 11  # it ends after ten in a row
    [state] = examples.folder.glob("*.SHA256SUMS")
    assert ".pdf" not in state.read_text()
