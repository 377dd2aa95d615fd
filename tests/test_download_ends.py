"""The ends of downloads that nginx carried: from its log into the audit history, each once."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit.models import AuditEntry
from documents.ends import LINES_AT_ONCE
from tests import factories, server
from tests.client import golden
from tests.factories import Tenant
from tests.nginx import Nginx
from tests.proxy import Proxy, failing_after
from tests.server import PATIENCE, ROOT, eventually

AN_END = "1771234567.123 {} 200 1000 1000\n"


def record(*logs: Path) -> dict[str, int]:
    """What the command says that it did."""
    out = StringIO()
    call_command("record_download_ends", *logs, stdout=out, stderr=StringIO())
    counts: dict[str, int] = json.loads(out.getvalue())
    return counts


def counts(**some: int) -> dict[str, int]:
    return dict.fromkeys(("recorded", "recorded_before", "unknown", "unreadable"), 0) | some


def ends() -> list[tuple[str, str, int | None]]:
    """Of each download that ended: its request, how, and the bytes."""
    found = AuditEntry.objects.filter(action="document.download_ended").order_by("id")
    return [(entry.request_id, entry.detail, entry.bytes_sent) for entry in found]


def download(nginx: Nginx, tenant: Tenant) -> str:
    """Downloads a file and returns the request's id."""
    document = factories.document(tenant.workspace)
    answer = nginx.get(f"/documents/{document.id}/download", tenant.raw)
    assert answer.status == 200
    request_id = answer.headers["request-id"]
    assert eventually(lambda: nginx.ends.exists() and request_id in nginx.ends.read_text())
    return request_id


def started(count: int, **fields: Any) -> list[str]:
    """Entries of downloads that have started, and their requests' ids."""
    ids = [uuid4().hex for _ in range(count)]
    facts = {"action": "document.downloaded", "key_name": "Acme sync", **fields}
    AuditEntry.objects.bulk_create(AuditEntry(request_id=id, **facts) for id in ids)
    return ids


def written(folder: Path, text: str) -> Path:
    log = folder / "downloads.log"
    log.write_text(text)
    return log


def command(*words: str | Path, **environment: str) -> "subprocess.Popen[str]":
    """The command in a process of its own, on the test database."""
    return subprocess.Popen(
        [sys.executable, "manage.py", "record_download_ends", *map(str, words)],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": server.test_database_url(), **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_store_that_fails_nginx_after_the_entry_is_a_download_broken_off_at_0(
    nginx: Nginx, acme: Tenant
) -> None:
    document = factories.document(acme.workspace)
    nginx.store.alter = failing_after(1)  # which told the application that the object is there
    answer = nginx.get(f"/documents/{document.id}/download", acme.raw)
    assert answer.status == 503
    assert answer.json() == golden("unavailable")
    assert "content-disposition" not in answer.headers
    request_id = answer.headers["request-id"]
    assert eventually(lambda: request_id in nginx.ends.read_text())
    record(nginx.ends)
    assert ends() == [(request_id, "broken off", 0)]


def test_what_is_no_download_has_no_line(nginx: Nginx, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    path = f"/documents/{document.id}/download"
    others = [
        nginx.get("/me", acme.raw),
        nginx.get(path, acme.raw, "HEAD"),
        nginx.get(path, acme.raw, range="bytes=9999999-"),
        nginx.get(path),
    ]
    nginx.raw(b"GET /_store/a/b.pdf HTTP/1.0\r\n\r\n")
    before = nginx.ends.read_text() if nginx.ends.exists() else ""
    last = download(nginx, acme)
    (line,) = nginx.ends.read_text().removeprefix(before).splitlines()
    assert last in line
    assert not any(answer.headers["request-id"] in before for answer in others)


def test_rotated_logs_are_read_together_and_again_without_doubling(
    nginx: Nginx, acme: Tenant
) -> None:
    first = download(nginx, acme)
    rotated = nginx.rotate()
    assert eventually(nginx.ends.exists)
    second = download(nginx, acme)
    assert record(rotated)["recorded"] == 1
    assert record(nginx.ends, rotated)["recorded"] == 1
    again = record(rotated, nginx.ends)
    assert (again["recorded"], again["recorded_before"]) == (0, 2)
    assert [(id, detail) for id, detail, _ in ends()] == [
        (first, "complete"),
        (second, "complete"),
    ]


def test_lines_of_others_and_no_lines_at_all_record_nothing(db: None, tmp_path: Path) -> None:
    (request_id,) = started(1)
    AuditEntry.objects.create(action="key.created", request_id="f" * 32)
    good = AN_END.format(request_id)
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
        good[:40] + good,  # a full disk has cut the first
        "\u0661" + good,
    ]
    strangers = [AN_END.format(uuid4().hex), AN_END.format("f" * 32)]
    log = written(tmp_path, "".join(bad + strangers))
    assert record(log) == counts(unknown=2, unreadable=len(bad))
    assert ends() == []
    log = written(tmp_path, "".join(bad + strangers + [good]))
    assert record(log) == counts(recorded=1, unknown=2, unreadable=len(bad))


def test_a_last_line_without_its_end_waits_for_it(db: None, tmp_path: Path) -> None:
    (request_id,) = started(1)
    whole = AN_END.format(request_id)
    for length in range(len(whole)):
        assert record(written(tmp_path, whole[:length])) == counts()
    assert record(written(tmp_path, whole)) == counts(recorded=1)


@pytest.mark.parametrize(
    ("said", "detail", "bytes_sent"),
    [
        ("200 1000 1000", "complete", 1000),
        ("206 7 7", "complete", 7),
        ("200 999 1000", "broken off", 999),
        ("206 0 7", "broken off", 0),
        ("200 1000 -", "broken off", 1000),
        ("503 88 88", "broken off", 0),  # the bytes of an error
        ("499 0 -", "broken off", 0),  # the client left before the store answered
    ],
)
def test_what_nginx_says_of_an_end(
    db: None, tmp_path: Path, said: str, detail: str, bytes_sent: int
) -> None:
    (request_id,) = started(1)
    assert record(written(tmp_path, f"1771234567.123 {request_id} {said}\n"))["recorded"] == 1
    assert ends() == [(request_id, detail, bytes_sent)]


def test_an_end_has_the_time_that_nginx_saw_but_never_before_its_start_or_in_the_future(
    db: None, tmp_path: Path
) -> None:
    start = datetime(2026, 2, 3, 4, 5, 6, 789_000, UTC)
    ids = started(3, created_at=start)
    times = [start + timedelta(seconds=60), start - timedelta(seconds=1), start.replace(year=2200)]
    lines = [f"{at.timestamp():.3f} {id} 200 1 1\n" for at, id in zip(times, ids, strict=True)]
    before = timezone.now()
    record(written(tmp_path, "".join(lines)))
    ended = AuditEntry.objects.filter(action="document.download_ended")
    first, second, third = (ended.get(request_id=id).created_at for id in ids)
    assert (first, second) == (times[0], start)
    assert before <= third <= timezone.now()


def test_many_lines_take_few_queries(db: None, tmp_path: Path) -> None:
    taken = []
    for count in (1, LINES_AT_ONCE, 2 * LINES_AT_ONCE):
        log = written(tmp_path, "".join(map(AN_END.format, started(count))))
        with CaptureQueriesContext(connection) as queries:
            assert record(log) == counts(recorded=count)
        taken.append(len(queries))
    one, full, two = taken
    assert full == one
    assert two == 2 * one


def test_three_at_once_record_each_end_once(transactional_db: None, tmp_path: Path) -> None:
    ids = started(3 * LINES_AT_ONCE)
    log = written(tmp_path, "".join(map(AN_END.format, ids)))
    processes = [command(log) for _ in range(3)]
    said = [json.loads(process.communicate(timeout=PATIENCE)[0]) for process in processes]
    assert [process.returncode for process in processes] == [0] * 3
    assert sum(each["recorded"] for each in said) == len(ids)
    assert {each["recorded"] + each["recorded_before"] for each in said} == {len(ids)}
    assert sorted(id for id, _, _ in ends()) == sorted(ids)


def test_followed_through_rotation_and_a_database_out_of_reach(
    nginx: Nginx, acme: Tenant, tmp_path: Path
) -> None:
    database = Proxy(server.test_database_url())
    process = command("--follow", nginx.ends, DATABASE_URL=database.url)
    ids: list[str] = []

    def all_recorded() -> bool:
        return [id for id, _, _ in ends()] == ids

    with contextlib.ExitStack() as stack:
        stack.callback(database.stop)
        stack.callback(process.kill)
        ids.append(download(nginx, acme))
        assert eventually(all_recorded)
        nginx.rotate()
        assert eventually(nginx.ends.exists)
        ids.append(download(nginx, acme))
        assert eventually(all_recorded)
        database.refuse()
        ids.append(download(nginx, acme))
        assert process.stderr is not None
        assert "trying again" in process.stderr.readline()
        assert len(ends()) == 2
        database.restore()
        assert eventually(all_recorded)
        nginx.ends.write_text("")  # emptied in place
        ids.append(download(nginx, acme))
        assert eventually(all_recorded)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert json.loads(out)["recorded"] == 4


def test_a_log_that_is_not_there_and_a_database_out_of_reach_are_said(
    db: None, tmp_path: Path
) -> None:
    for path in (tmp_path / "none.log", tmp_path):
        with pytest.raises(CommandError, match="cannot be read"):
            record(path)
    log = written(tmp_path, AN_END.format("0" * 32))
    process = command(log, DATABASE_URL="postgresql://nobody@127.0.0.1:1/none")
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1
    assert json.loads(out) == counts()
    assert "run it again" in err
    assert "Traceback" not in err
