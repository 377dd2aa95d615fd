"""Completions of downloads that nginx served: from its log into the audit log, each once."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.models import AuditEntry
from config.management.shutdown import Shutdown
from documents.download import nginx_log
from documents.download.nginx_log import BLOCK, Counts, record_lines
from tests.support import factories, server
from tests.support.database import backdated, without_triggers
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, record_completions
from tests.support.proxy import Proxy
from tests.support.server import PATIENCE, ROOT, eventually

LINE = "1771234567.123 {} 200 1000 1000\n"
LINES_IN_BLOCK = BLOCK // len(LINE.format("0" * 32))


def counts(**some: int) -> dict[str, int]:
    return dict.fromkeys(("recorded", "recorded_before", "unknown", "unreadable"), 0) | some


def end_entries() -> list[tuple[str, str, int | None]]:
    """The request id, the outcome and the bytes of each completed download."""
    found = AuditEntry.objects.filter(action="document.download_ended").order_by("id")
    return [(entry.request_id, entry.detail, entry.bytes_sent) for entry in found]


def download(nginx: Nginx, tenant: Tenant) -> str:
    """Downloads a file and returns the request's id."""
    document = factories.document(tenant.workspace)
    response = nginx.get(f"/documents/{document.id}/download", tenant.raw)
    assert response.status == 200
    request_id = response.headers["request-id"]
    log = nginx.completions
    assert eventually(lambda: log.exists() and request_id in log.read_text())
    return request_id


def started(count: int, **fields: Any) -> list[str]:
    """Adds entries of downloads that have started; returns their requests' ids."""
    ids = [uuid4().hex for _ in range(count)]
    facts = {"action": "document.downloaded", "key_name": "Acme sync", **fields}
    facts.setdefault("created_at", timezone.now())
    backdated(AuditEntry(request_id=id, **facts) for id in ids)
    return ids


def written(folder: Path, text: str) -> Path:
    log = folder / "downloads.log"
    log.write_text(text)
    return log


@contextlib.contextmanager
def command(stdin: Any, database: str) -> Iterator["subprocess.Popen[str]"]:
    """The command in a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "manage.py", "record_download_completions"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_nginx_log_has_no_line_for_what_is_no_download(nginx: Nginx, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    path = f"/documents/{document.id}/download"
    others = [
        nginx.get("/me", acme.raw),
        nginx.get(path, acme.raw, "HEAD"),
        nginx.get(path, acme.raw, range="bytes=9999999-"),
        nginx.get(path),
    ]
    nginx.raw(b"GET /_storage/a/b.pdf HTTP/1.0\r\n\r\n")
    before = nginx.completions.read_text() if nginx.completions.exists() else ""
    last = download(nginx, acme)
    (line,) = nginx.completions.read_text().removeprefix(before).splitlines()
    assert last in line
    assert not any(response.headers["request-id"] in before for response in others)


def test_record_download_completions_records_a_log_that_is_read_again_once(
    db: None, tmp_path: Path
) -> None:
    first, second = started(2)
    lines = [LINE.format(id) for id in (first, second)]
    assert record_completions(written(tmp_path, lines[0])) == counts(recorded=1)
    log = written(tmp_path, lines[1] + lines[0] + lines[1])
    assert record_completions(log) == counts(recorded=1, recorded_before=1)
    assert record_completions(log) == counts(recorded_before=2)
    assert [(id, detail) for id, detail, _ in end_entries()] == [
        (first, "all bytes sent"),
        (second, "all bytes sent"),
    ]


def test_record_download_completions_counts_unreadable_lines_and_unknown_requests(
    db: None, tmp_path: Path
) -> None:
    (request_id,) = started(1)
    AuditEntry.objects.create(action="key.created", request_id="f" * 32)
    good = LINE.format(request_id)
    bad = [
        "\n",
        "\0\n",
        "nonsense\n",
        "x" * 200_000 + "\n",
        good.replace(" 1000 ", " -1 "),
        good.replace("1000", "9" * 30),
        good.replace("1771234567", "9" * 30),
        good.replace(request_id, request_id.upper() + "0"),
        good.replace(request_id, request_id[:-1]),
        good[:40] + good,  # the first was cut by a full disk
        "\u0661" + good,
    ]
    strangers = [LINE.format(uuid4().hex), LINE.format("f" * 32)]
    assert record_completions(written(tmp_path, "")) == counts()
    log = written(tmp_path, "".join(bad + strangers))
    assert record_completions(log) == counts(unknown=2, unreadable=len(bad))
    assert end_entries() == []
    for length in range(len(good)):  # a last line may be cut
        assert record_completions(written(tmp_path, good[:length])) == counts()
    log = written(tmp_path, "".join(bad + strangers + [good]))
    assert record_completions(log) == counts(recorded=1, unknown=2, unreadable=len(bad))


ENDS = [
    ("200 50000 50000", "all bytes sent", 50000),
    ("206 100 100", "part: 100 of 50,000 bytes", 100),
    ("200 1234 50000", "broken off at 1,234 of 50,000 bytes", 1234),
    ("206 0 100", "part, broken off at 0 of 100 bytes", 0),
    ("200 1000 -", "broken off at 1,000 bytes", 1000),
    ("503 88 88", "broken off at 0 bytes", 0),  # the bytes of an error
    ("499 0 -", "broken off at 0 bytes", 0),  # the client left before object storage responded
    ("200 0 0", "all bytes sent", 0),
]


def test_record_download_completions_records_bytes_and_how_many_these_are_of_all(
    db: None, tmp_path: Path
) -> None:
    for logged, detail, bytes_sent in ENDS:
        byte_range = "0-99/50000" if logged.startswith("206") else ""
        (request_id,) = started(1, byte_range=byte_range)
        log = written(tmp_path, f"1771234567.123 {request_id} {logged}\n")
        assert record_completions(log)["recorded"] == 1
        assert end_entries()[-1] == (request_id, detail, bytes_sent)


def test_record_download_completions_records_nginx_s_time_between_start_and_now(
    as_owner: None, db: None, tmp_path: Path
) -> None:
    start = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)
    with without_triggers():
        ids = [id for row in (1, 2, 3) for id in started(1, id=row, created_at=start)]
    times = [start + timedelta(seconds=60), start - timedelta(seconds=1), start.replace(year=2200)]
    lines = [f"{at.timestamp():.3f} {id} 200 1 1\n" for at, id in zip(times, ids, strict=True)]
    before = timezone.now()
    record_completions(written(tmp_path, "".join(lines)))
    found = AuditEntry.objects.filter(action="document.download_ended")
    first, second, third = (found.get(request_id=id).occurred_at for id in ids)
    assert (first, second) == (times[0], start)
    assert third is not None
    assert before <= third <= timezone.now()
    assert all(entry.created_at >= before for entry in found)


def test_record_download_completions_makes_few_queries_for_many_lines(
    db: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nginx_log, "BLOCK", 100 * len(LINE.format("0" * 32)))
    taken = []
    for count in (1, 100, 200):
        log = written(tmp_path, "".join(map(LINE.format, started(count))))
        with CaptureQueriesContext(connection) as queries:
            assert record_completions(log) == counts(recorded=count)
        taken.append(len(queries))
    one, full, two = taken
    assert full == one
    assert two <= 2 * one


@pytest.mark.slow
def test_record_lines_records_each_completion_once_if_three_read_the_same_log(
    transactional_db: None, tmp_path: Path
) -> None:
    ids = started(2 * LINES_IN_BLOCK)
    log = written(tmp_path, "".join(map(LINE.format, ids)))

    def read(_: int) -> Counts:
        """What a process does, on a database connection of the thread's own."""
        counts = Counts()
        try:
            with log.open() as file:
                record_lines(file.fileno(), counts, print, Shutdown())
        finally:
            connection.close()
        return counts

    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(read, range(3)))
    assert sum(each.recorded for each in results) == len(ids)
    assert {each.recorded + each.recorded_before for each in results} == {len(ids)}
    assert sorted(id for id, _, _ in end_entries()) == sorted(ids)


def test_record_download_completions_records_each_line_that_tail_writes_at_once(
    nginx: Nginx, acme: Tenant
) -> None:
    """Through a rotation, and while the database is out of reach."""
    before = len(nginx.completions.read_text().splitlines())
    words = ["tail", "-n", f"+{before + 1}", "-s", "0.1", "-F", str(nginx.completions)]
    ids: list[str] = []

    def all_recorded() -> bool:
        return [id for id, _, _ in end_entries()] == ids

    with contextlib.ExitStack() as stack:
        database = Proxy(server.test_database_url())
        stack.callback(database.stop)
        tail = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        stack.callback(tail.communicate)
        stack.callback(tail.kill)
        process = stack.enter_context(command(tail.stdout, database.url))
        ids.append(download(nginx, acme))
        assert eventually(all_recorded)
        nginx.rotate()
        assert eventually(nginx.completions.exists)
        ids.append(download(nginx, acme))
        assert eventually(all_recorded)
        database.refuse()
        ids.append(download(nginx, acme))
        assert process.stderr is not None
        assert "trying again" in process.stderr.readline()
        assert len(end_entries()) == 2
        database.restore()
        assert eventually(all_recorded)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0, err
    assert json.loads(out) == counts(recorded=3)
