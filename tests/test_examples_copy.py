"""examples/copy_completed.py: every completed agreement is copied, once, whatever happens."""

import contextlib
import hashlib
import os
import pty
import random
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from uuid import uuid4

import pytest
from django.core.files.storage import default_storage

from audit.models import AuditEntry
from documents import storage
from documents.models import Document, StoredFile
from tests import factories
from tests.examples import Asked, Examples, ended
from tests.factories import Tenant, at
from tests.proxy import Proxy
from tests.server import Server, eventually

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
NOTHING = "0 new files; "


@pytest.fixture
def examples(tmp_path: Path, server: Server, acme: Tenant) -> Examples:
    return Examples(tmp_path, server, acme)


@pytest.fixture
def agreements(acme: Tenant, umbrella: Tenant) -> list[Document]:
    """Acme's, in a workspace with much else."""
    factories.document(umbrella.workspace, "COMPLETED")
    factories.document(acme.workspace, "COMPLETED", deleted_at=at("2026-03-04 00:00:00"))
    for status in ("DRAFT", "SENT", "PARTIALLY_SIGNED", "DECLINED"):
        factories.document(acme.workspace, status)
    return [factories.document(acme.workspace, "COMPLETED", title=title) for title in TITLES]


Copies = dict[tuple[str, str], str]  # document and kind → SHA-256


def wanted(documents: list[Document]) -> Copies:
    return {
        (str(document.id), kind): getattr(document, kind).sha256
        for document in documents
        for kind in KINDS
    }


def copies(folder: Path) -> Copies:
    """What the folder has, which is nothing but the state and whole files, each once."""
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
    """Whether sha256sum finds each file that the state lists, as it is there."""
    words = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    return subprocess.run(words, cwd=folder, capture_output=True).returncode == 0


def downloads() -> int:
    return AuditEntry.objects.filter(action="document.downloaded").count()


def has(folder: Path, files: int) -> bool:
    return len(list(folder.glob("*.pdf"))) >= files


def test_all_of_it_is_copied_and_a_second_run_fetches_nothing(
    examples: Examples, agreements: list[Document]
) -> None:
    assert "20 new files; 10 agreements are completed." in examples.run("copy_completed", "here")
    assert copies(examples.folder / "here") == wanted(agreements)
    assert checked(examples.folder / "here")
    asked = Asked(examples.server)
    assert NOTHING in examples.run("copy_completed", "here")
    assert asked() == ["me 200", "documents 200"]


def test_a_run_fetches_what_is_new_also_of_what_was_created_long_ago(
    examples: Examples, agreements: list[Document], acme: Tenant
) -> None:
    old = factories.document(acme.workspace, "SENT", created_at=at("2020-01-01 00:00:00"))
    examples.run("copy_completed", "here")
    old.signed, old.certificate = factories.stored(b"signed"), factories.stored(b"certificate")
    old.status, old.completed_at = "COMPLETED", at("2026-03-03 00:00:00")
    old.save()
    before = downloads()
    assert "2 new files; 11 agreements" in examples.run("copy_completed", "here")
    assert downloads() == before + 2
    assert copies(examples.folder / "here") == wanted([*agreements, old])


def test_more_agreements_than_a_page_are_all_found(examples: Examples, acme: Tenant) -> None:
    oldest = factories.document(acme.workspace, "COMPLETED", created_at=at("2020-01-01 00:00:00"))
    files = StoredFile.objects.bulk_create(
        StoredFile(object_key=f"none/{number}.pdf", size=1, sha256="0" * 64)
        for number in range(200)
    )
    made = factories.listed(
        acme.workspace,
        100,
        status="COMPLETED",
        completed_at=at("2026-03-03 00:00:00"),
        signed=lambda number: files[number],
        certificate=lambda number: files[100 + number],
    )
    state = examples.folder / "state"
    state.write_text("".join(f"0  A {each.id} {kind}.pdf\n" for each in made for kind in KINDS))
    printed = examples.run("copy_completed", "here", "--state", str(state))
    assert "100 of 101 agreements, 0 new files\n2 new files; 101 agreements" in printed
    assert copies(examples.folder / "here") == wanted([oldest])


def test_a_terminal_has_a_progress_bar_that_goes_when_it_is_done(
    examples: Examples, agreements: list[Document]
) -> None:
    ours, theirs = pty.openpty()
    process = examples.start("copy_completed", "here", stderr=theirs)
    os.close(theirs)
    written = b""
    with contextlib.suppress(OSError):  # Linux: the other end is closed
        while block := os.read(ours, 65536):
            written += block
    os.close(ours)
    process.communicate()
    lines = written.decode().split("\r\x1b[K")
    half, whole = f"[{'#' * 15}{' ' * 15}] 5 of 10", f"[{'#' * 30}] 10 of 10"
    assert f"{half} agreements, 10 new files" in lines
    assert lines[-3:] == [
        f"{whole} agreements, 20 new files",
        "20 new files; 10 agreements are completed.\r\n",
        "",
    ]


def test_killed_at_any_moment_it_loses_nothing_and_has_nothing_twice(
    examples: Examples, agreements: list[Document]
) -> None:
    folder = examples.folder / "here"
    rng = random.Random(5)  # noqa: S311 - repeatable
    kills = range(1, 19, 5)
    for enough in kills:
        process = examples.start("copy_completed", "here")
        assert eventually(partial(has, folder, enough))
        time.sleep(rng.random() / 20)  # anywhere in what it does for a file
        process.kill()
        process.communicate()
        there = in_names({file.name: file.read_bytes() for file in folder.glob("*.pdf")})
        assert there.items() <= wanted(agreements).items()
        (folder / "SHA256SUMS").touch()
        listed = (folder / "SHA256SUMS").read_text().rpartition("\n")[0].splitlines()
        assert all((folder / line.partition("  ")[2]).exists() for line in listed)

    examples.run("copy_completed", "here")
    assert copies(folder) == wanted(agreements)
    assert checked(folder)
    assert len((folder / "SHA256SUMS").read_text().splitlines()) == 20
    assert downloads() <= 20 + len(kills)  # what a kill undoes is one file


# Loaded by Python as it starts: the process kills itself before its Nth step with a file there.
KILLER = """
import os, signal, sys
left = int(os.environ["KILL_AT"])
def hook(event, args):
    global left
    if event in ("open", "os.mkdir", "os.rename", "os.truncate") and "copies" in str(args[0]):
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
"""


def test_killed_before_each_step_with_a_file_it_goes_on_as_if_nothing_had_been(
    examples: Examples, acme: Tenant
) -> None:
    document = factories.document(acme.workspace, "COMPLETED")
    (examples.folder / "sitecustomize.py").write_text(KILLER)
    targets = {step: f"copies {step}" for step in range(1, 14)}
    killed = []
    for step, target in targets.items():
        examples.environment |= {"PYTHONPATH": str(examples.folder), "KILL_AT": str(step)}
        killed.append(examples.start("copy_completed", target))
    for process in killed:
        process.communicate()
    # The last one survived: there are no more steps.
    assert [process.returncode for process in killed] == [-signal.SIGKILL] * 12 + [0]

    del examples.environment["PYTHONPATH"]
    for process in [examples.start("copy_completed", target) for target in targets.values()]:
        ended(process)
    for target in targets.values():
        assert copies(examples.folder / target) == wanted([document])
        assert checked(examples.folder / target)
        assert len((examples.folder / target / "SHA256SUMS").read_text().splitlines()) == 2
    assert downloads() <= 2 * len(targets) + len(killed)


def test_a_file_that_is_only_half_written_is_not_there(examples: Examples, acme: Tenant) -> None:
    signed = factories.stored(bytes(200_000))
    document = factories.document(acme.workspace, "COMPLETED", signed=signed)
    limit = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
    (examples.folder / "sitecustomize.py").write_text(limit)
    examples.environment["PYTHONPATH"] = str(examples.folder)
    assert "File too large\n" in examples.run("copy_completed", "here", status=1)
    folder = examples.folder / "here"
    assert [file.stat().st_size for file in folder.glob("*.part")] == [100_000]
    assert not list(folder.glob("*.pdf"))
    del examples.environment["PYTHONPATH"]
    examples.run("copy_completed", "here")
    assert copies(folder) == wanted([document])


def test_whatever_a_crash_left_of_state_and_files_is_repaired(
    examples: Examples, agreements: list[Document]
) -> None:
    folder = examples.folder / "here"
    examples.run("copy_completed", "here")
    state = folder / "SHA256SUMS"
    whole = state.read_bytes()
    last = whole.splitlines(keepends=True)[-1]
    file = folder / last.decode().partition("  ")[2].strip()
    for kept in (0, 1, 66, len(last) - 5, len(last) - 1):
        state.write_bytes(whole.removesuffix(last) + last[:kept])
        file.with_name(f"{file.name}.part").write_bytes(b"%PDF")
        assert "1 new files; 10 agreements" in examples.run("copy_completed", "here")
        assert state.read_bytes() == whole
        assert copies(folder) == wanted(agreements)


def test_a_file_that_arrives_damaged_is_refused_and_the_others_are_copied(
    examples: Examples, acme: Tenant
) -> None:
    bad = factories.document(acme.workspace, "COMPLETED", certificate=factories.stored(b"evil" * 9))
    good = factories.document(acme.workspace, "COMPLETED")

    front = Proxy(
        examples.environment["DTD_BASE_URL"], lambda block: block.replace(b"evil", b"live", 1)
    )
    examples.environment["DTD_BASE_URL"] = front.url
    try:
        printed = examples.run("copy_completed", "here", status=1)
        assert f"{bad.id} certificate.pdf: " in printed
        assert "Not copied: 1. The next run tries again." in printed
        kept = wanted([bad, good])
        del kept[str(bad.id), "certificate"]
        assert copies(examples.folder / "here") == kept
        front.alter = lambda block: block
        assert "1 new files; 2 agreements" in examples.run("copy_completed", "here")
        assert copies(examples.folder / "here") == wanted([bad, good])
    finally:
        front.stop()


def test_a_file_that_breaks_off_is_asked_for_again(examples: Examples, acme: Tenant) -> None:
    content = random.Random(5).randbytes(1_000_000)  # noqa: S311 - bytes to tell parts by
    document = factories.document(acme.workspace, "COMPLETED", signed=factories.stored(content))
    cut: list[bytes] = []

    def once(block: bytes) -> bytes:
        if content[500_000:500_020] in block and not cut:
            cut.append(block)
            raise ConnectionResetError
        return block

    front = Proxy(examples.environment["DTD_BASE_URL"], once)
    examples.environment["DTD_BASE_URL"] = front.url
    try:
        assert "Waiting 1 s." in examples.run("copy_completed", "here")
    finally:
        front.stop()
    assert cut
    assert copies(examples.folder / "here") == wanted([document])


def test_while_the_store_is_away_it_waits_as_long_as_it_is_told(
    examples: Examples, agreements: list[Document]
) -> None:
    asked = Asked(examples.server)
    examples.server.store.refuse()
    process = examples.start("copy_completed", "here")
    assert eventually(lambda: "download 503" in asked())
    examples.server.store.restore()
    assert "Waiting 5 s." in ended(process)
    assert asked().count("download 503") == 1
    assert copies(examples.folder / "here") == wanted(agreements)


@pytest.fixture
def prefix() -> Iterator[str]:
    """A place in the bucket of the tests; afterwards it is empty again."""
    name = f"copies {uuid4().hex}/ü (1)"
    yield name
    storage.delete(f"{name}/{key}" for key in default_storage.listdir(name)[1])


def test_a_bucket_is_a_target_too(
    examples: Examples, agreements: list[Document], prefix: str
) -> None:
    examples.environment |= {
        "AWS_ENDPOINT_URL": os.environ["S3_ENDPOINT_URL"],
        "AWS_ACCESS_KEY_ID": os.environ["S3_ACCESS_KEY_ID"],
        "AWS_SECRET_ACCESS_KEY": os.environ["S3_SECRET_ACCESS_KEY"],
    }
    target = f"s3://{os.environ['S3_BUCKET']}/{prefix}/"
    assert "20 new files" in examples.run("copy_completed", target)
    assert NOTHING in examples.run("copy_completed", target)
    contents = {}
    for name in default_storage.listdir(prefix)[1]:
        with default_storage.open(f"{prefix}/{name}") as file:
            contents[name] = file.read()
    assert in_names(contents) == wanted(agreements)
    # Another place has a state of its own.
    examples.environment["AWS_SECRET_ACCESS_KEY"] = "wrong"
    assert ": 403, " in examples.run("copy_completed", f"{target}2", status=1)
