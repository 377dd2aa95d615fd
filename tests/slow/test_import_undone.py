"""import_documents that fails half way: the database and the store are as before."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest
from django.core.management.base import CommandError
from django.db import connection

from config.management.shutdown import Shutdown
from documents import storage
from documents.importing import ImportRefused
from documents.importing.files import check_file, upload
from documents.models import StoredFile
from documents.pages import PageCounter
from tests.support import factories, server
from tests.support.factories import Tenant, pdf, uid
from tests.support.inbox import Inbox, completed, objects, rows, sent, signer
from tests.support.processes import heed_signals
from tests.support.proxy import Proxy, failing_after
from tests.support.server import PATIENCE, ROOT, eventually
from workspaces.models import Workspace
from workspaces.plans import Plan

MANY = 200  # documents
SOME = 20  # of their objects, which the store has when something happens


@pytest.fixture
def workspace(transactional_db: None) -> Workspace:
    """One that other processes see."""
    return Workspace.objects.create(name="Acme", plan=Plan.PRO)


@pytest.fixture
def proxies() -> Iterator[tuple[Proxy, Proxy]]:
    """The ways to PostgreSQL and to S3."""
    made = Proxy(server.test_database_url()), Proxy(os.environ["S3_ENDPOINT_URL"])
    yield made
    for proxy in made:
        proxy.stop()


def begin(
    workspace: Workspace, inbox: Inbox, proxies: tuple[Proxy, Proxy]
) -> "subprocess.Popen[str]":
    """Starts the command in a process of its own; half way the store falls silent."""
    database, store = proxies
    store.silence_after(3 * SOME)
    return subprocess.Popen(
        [sys.executable, "manage.py", "import_documents", str(workspace.pk), str(inbox.file)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database.url, "S3_ENDPOINT_URL": store.url},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_signals,
    )


def interrupt(
    process: "subprocess.Popen[str]", before: set[str], *steps: Callable[[], object]
) -> list[str]:
    """Takes some steps once the store has some of the objects.

    Returns:
        What the process says in the end, without its progress; it prints nothing else.
    """
    assert eventually(lambda: len(objects() - before) > SOME)
    for step in steps:
        step()
    out, err = process.communicate(timeout=PATIENCE)
    assert out == ""
    return [line for line in err.splitlines() if not line.endswith(" …")]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_import_that_is_asked_to_end_leaves_nothing(
    workspace: Workspace, inbox: Inbox, proxies: tuple[Proxy, Proxy], number: signal.Signals
) -> None:
    before = objects()
    inbox.write(*[sent()] * MANY)
    process = begin(workspace, inbox, proxies)
    said = interrupt(process, before, lambda: process.send_signal(number), proxies[1].restore)
    assert said == ["CommandError: Stopped; nothing was imported."]
    assert process.returncode == 128 + number
    assert rows() == [0, 0, 0]
    assert objects() == before


def test_import_that_loses_the_database_leaves_nothing(
    workspace: Workspace, inbox: Inbox, proxies: tuple[Proxy, Proxy]
) -> None:
    before = objects()
    inbox.write(*[sent()] * MANY)
    process = begin(workspace, inbox, proxies)
    [said] = interrupt(process, before, proxies[0].refuse, proxies[1].restore)
    assert said.startswith("CommandError: The database: ")
    assert said.endswith("; nothing was imported.")
    assert process.returncode == 1
    assert rows() == [0, 0, 0]
    assert objects() == before


def test_import_that_loses_object_storage_says_what_may_be_left_in_it(
    workspace: Workspace, inbox: Inbox, proxies: tuple[Proxy, Proxy]
) -> None:
    before = objects()
    inbox.write(*[sent()] * MANY)
    process = begin(workspace, inbox, proxies)
    [said] = interrupt(process, before, proxies[1].refuse)
    assert said.startswith("CommandError: Object storage: up to ")
    left = objects() - before
    assert any(key in said for key in left)
    assert process.returncode == 1
    assert rows() == [0, 0, 0]


def test_import_without_object_storage_is_one_line(
    workspace: Workspace, inbox: Inbox, proxies: tuple[Proxy, Proxy]
) -> None:
    inbox.write(sent())
    proxies[1].refuse()
    process = begin(workspace, inbox, proxies)
    out, err = process.communicate(timeout=PATIENCE)
    assert out == ""
    [said] = err.splitlines()
    assert said.startswith("CommandError: Object storage: ")
    assert process.returncode == 1
    assert rows() == [0, 0, 0]


@pytest.mark.usefixtures("as_owner")
def test_import_leaves_nothing_when_the_database_refuses_a_row(acme: Tenant, inbox: Inbox) -> None:
    old = factories.document(acme.workspace, title="Old")
    before = objects(), rows()
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE documents_recipient ADD CHECK (name <> 'Nobody')")
    inbox.write(
        completed(id=str(old.pk), title="New"),
        sent(),
        sent(recipients=[signer(name="Nobody")]),
    )
    with pytest.raises(CommandError, match=r"\AThe database: .*; nothing was imported\.\Z"):
        inbox.run(acme.workspace)
    assert (objects(), rows()) == before
    old.refresh_from_db()
    assert old.title == "Old"
    assert old.original.object_key in objects()


def test_upload_refuses_a_file_that_changed_after_it_was_checked(inbox: Inbox) -> None:
    before = objects()
    path = inbox.folder.resolve() / "original.pdf"
    with PageCounter() as counter:
        checked = check_file(path.parent, counter, path.name)
    inbox.put("original.pdf", b"%PDF changed")
    with pytest.raises(ImportRefused, match=r"original\.pdf changed; nothing was imported"):
        upload({storage.new_key(): checked}, Shutdown())
    path.unlink()
    with pytest.raises(ImportRefused, match=r"original\.pdf cannot be read any more .No such file"):
        upload({storage.new_key(): checked}, Shutdown())
    assert objects() == before


def test_import_stands_when_replaced_objects_cannot_be_removed_and_names_them(
    workspace: Workspace, inbox: Inbox, proxies: tuple[Proxy, Proxy]
) -> None:
    inbox.take(workspace, sent(id=str(uid(1))))
    old = StoredFile.objects.get()
    inbox.put("original.pdf", pdf("another", 2))
    process = begin(workspace, inbox, proxies)
    proxies[1].alter = failing_after(2)  # the upload succeeds
    out, err = process.communicate(timeout=PATIENCE)
    assert json.loads(out) == {"created": 0, "updated": 1, "files": 1}
    assert process.returncode == 0
    assert "The documents are imported, but of the files they had before" in err
    assert old.object_key in err
    assert rows() == [1, 1, 1]
