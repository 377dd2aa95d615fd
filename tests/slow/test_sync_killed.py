"""Everything is killed at random moments, and consumers still learn of each event.

A writer changes 150 documents by SQL: 600 events. One consumer receives webhooks, another one
follows the events. The writer, both consumers, the processes that deliver, the server and the
connections of the database are killed again and again meanwhile.
"""

import contextlib
import json
import random
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import psutil
import pytest
from django.db.models.functions import Now

from config.ports import free_port
from documents.models import Document, StoredFile
from events.webhooks import services
from events.webhooks.models import Delivery, DeliveryState
from tests.support import factories
from tests.support import server as servers
from tests.support.factories import Tenant
from tests.support.server import ROOT, end_connections, serving_environment

DOCUMENTS = 150
MOVES = ["document.created", "document.sent", "document.viewed", "document.completed"]
SENT_TO_ENDPOINT = MOVES[2:]
PATIENCE = 120.0  # seconds after the last kill
PROGRAMS = Path(__file__).parent.parent / "support" / "sync_programs.py"


class Killable:
    """A program that is started again whenever it is killed."""

    def __init__(self, *command: str | Path) -> None:
        self.command = [sys.executable, *map(str, command)]
        own = {"DATABASE_URL": servers.test_database_url(), "WEBHOOK_TARGETS": "any"}
        own["PYTHONPATH"] = str(ROOT / "client")
        own["GRANIAN_BLOCKING_THREADS"] = str(servers.THREADS)
        self.environment = {**serving_environment(), **own}
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command, cwd=ROOT, env=self.environment, stderr=subprocess.DEVNULL
        )

    def kill(self) -> None:
        """Kills it and its children, and starts it again."""
        self.stop()
        self.start()

    def stop(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            main = psutil.Process(self.process.pid)
            for process in (main, *main.children(recursive=True)):
                process.kill()
        self.process.wait()


@pytest.fixture
def programs() -> Iterator[dict[str, Killable]]:
    """Those that the test starts; killed at its end."""
    started: dict[str, Killable] = {}
    yield started
    for program in started.values():
        program.stop()


def documents(tenant: Tenant) -> list[str]:
    """The ids of documents that are sent, and have the files that a complete one needs."""
    files = StoredFile.objects.bulk_create(
        StoredFile(object_key=f"none/{number}.pdf", size=1000, sha256="0" * 64)
        for number in range(2 * DOCUMENTS)
    )
    made = factories.listed(
        tenant.workspace,
        DOCUMENTS,
        signed=lambda number: files[2 * number],
        certificate=lambda number: files[2 * number + 1],
    )
    return [str(document.pk) for document in made]


def test_consumers_learn_of_each_event_whatever_is_killed(
    acme: Tenant, transactional_db: None, tmp_path: Path, programs: dict[str, Killable]
) -> None:
    draw = random.Random(17)  # noqa: S311 - moments, not secrets
    pages, arrived = tmp_path / "pages", tmp_path / "arrived"
    pages.mkdir()
    port, server_port = str(free_port()), str(free_port())
    _, secret = services.create(
        workspace=acme.workspace,
        url=f"http://127.0.0.1:{port}/",
        types=SENT_TO_ENDPOINT,
        by=acme.admin,
    )
    ids = documents(acme)
    url = f"http://127.0.0.1:{server_port}"
    write = ("write", servers.test_database_url(), str(acme.workspace.pk), "17")
    programs["server"] = Killable(*servers.granian(int(server_port))[1:])
    programs["receiver"] = Killable(PROGRAMS, "receive", port, secret, arrived)
    programs["follower"] = Killable(PROGRAMS, "follow", url, acme.raw, pages)
    programs["one that delivers"] = Killable("manage.py", "deliver_webhooks")
    programs["another one"] = Killable("manage.py", "deliver_webhooks")
    programs["writer"] = Killable(PROGRAMS, *write)
    victims: list[Callable[[], Any]] = [program.kill for program in programs.values()]
    victims.append(end_connections)
    while programs["writer"].process.poll() is None:
        for kill in draw.sample(victims, len(victims)):
            time.sleep(draw.uniform(0.3, 2.0))
            kill()
    assert not Document.objects.exclude(status="COMPLETED").exists()

    end = time.monotonic() + PATIENCE
    while not all_delivered() or len(events_in(pages)) < len(MOVES) * DOCUMENTS:
        assert time.monotonic() < end, Delivery.objects.filter(state=DeliveryState.PENDING).count()
        time.sleep(0.5)
    received = {(event["data"]["id"], event["type"]) for event in lines_of(arrived)}
    assert received == {(id, type) for id in ids for type in SENT_TO_ENDPOINT}
    events = events_in(pages)
    by_document: dict[str, list[str]] = {}
    for event in events:
        by_document.setdefault(event["data"]["id"], []).append(event["type"])
    assert by_document == dict.fromkeys(ids, MOVES)
    sent = {event["id"] for event in events if event["type"] in SENT_TO_ENDPOINT}
    assert {event["id"] for event in lines_of(arrived)} == sent


def all_delivered() -> bool:
    """Whether nothing waits; what waits for minutes after its second failure is due now."""
    waiting = Delivery.objects.filter(state=DeliveryState.PENDING)
    minutes = Now() + timedelta(seconds=10)
    waiting.filter(next_attempt_at__gt=minutes).update(next_attempt_at=Now())
    return not waiting.exists()


def lines_of(file: Path) -> list[Any]:
    """The events that the receiver has kept."""
    return [json.loads(line) for line in file.read_text().splitlines()]


def events_in(folder: Path) -> list[Any]:
    """The events that the follower has kept."""
    pages = (json.loads(page.read_text()) for page in sorted(folder.glob("*.json")))
    return [event for page in pages for event in page["data"]]
