"""The log: its two formats, what a line has, why a request was refused, and no secrets."""

import contextlib
import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit
from uuid import uuid4

import pytest
from django.conf import settings

from apikeys import keys
from config.request.logs import JsonFormatter, RedactingFormatter
from config.request.redaction import redact
from tests.support import factories, staff
from tests.support.client import get
from tests.support.database import renamed
from tests.support.factories import Tenant
from tests.support.fixtures import AccessLog
from tests.support.nginx import Nginx, exchange, program, request
from tests.support.server import ROOT, Server, eventually, running

PASSWORD = "correct-horse-battery-staple"
TYPED = "typed-into-the-wrong-field"


def test_log_as_json_has_one_object_a_request(json_server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    sent = json_server.get(f"/documents/{document.id}?a=b", acme.raw, user_agent='Agent "7"')
    [line] = json_server.lines_of(sent)
    assert datetime.fromisoformat(line["time"]).utcoffset() is not None
    assert line["milliseconds"] > 0
    assert line["message"].startswith(f"GET /api/v1/documents/{document.id} 200 ")
    expected = {
        "time": line["time"],
        "level": "INFO",
        "logger": "access",
        "message": line["message"],
        "request_id": sent.headers["request-id"],
        "method": "GET",
        "route": "/api/v1/documents/<str:id>",
        "path": f"/api/v1/documents/{document.id}",
        "status": 200,
        "milliseconds": line["milliseconds"],
        "bytes": len(sent.body),
        "key_prefix": acme.key.prefix,
        "workspace_id": str(acme.workspace.id),
        "client_address": "127.0.0.1",
        "user_agent": 'Agent "7"',
        "user": None,
        "reason": None,
        "cause": None,
    }
    assert list(line.items()) == list(expected.items())


def test_log_as_text_has_its_fields_in_a_fixed_order(server: Server, acme: Tenant) -> None:
    ok = server.get("/me", acme.raw)
    refused = server.get("/me", keys.generate())
    line = eventually(lambda: server.log_of(ok))
    assert re.search(
        rf"INFO access \[\w{{32}}\] GET /api/v1/me 200 [\d.]+ ms bytes={len(ok.body)} "
        rf"key_prefix={acme.key.prefix} workspace_id={acme.workspace.id} "
        r"client_address=127\.0\.0\.1 reason=-\n$",
        line,
    )
    assert eventually(lambda: server.log_of(refused)).endswith(
        "reason=unknown, revoked, expired or deleted key\n"
    )


def revoked(tenant: Tenant) -> str:
    key, raw = factories.issue(tenant.workspace, "Revoked", tenant.admin)
    key.revoke(by=tenant.admin)
    return raw


def test_log_has_the_reason_of_a_401(acme: Tenant, access_log: AccessLog) -> None:
    ended, unknown, raw = "unknown, revoked, expired or deleted key", keys.generate(), revoked(acme)
    no_key = "a key is dtd_ and 40 letters or digits; what was sent has"
    for sent, prefix, reason in (
        (None, None, "no Authorization header"),
        ("Basic abc", None, "the Authorization header is not of the form Bearer dtd_…"),
        ("Bearer dtd_hunter2", None, f"{no_key} 11 characters"),
        (f"Bearer dtd_{'x' * 39}", "dtd_xxxxxxxx", f"{no_key} 43 characters"),
        (f"Bearer {unknown}", unknown[:12], ended),
        (f"Bearer {raw}", raw[:12], ended),
    ):
        get("/api/v1/me", sent)
        fields = access_log()[-1]
        assert (fields["status"], fields["workspace_id"]) == (401, None)
        assert (fields["reason"], fields["key_prefix"]) == (reason, prefix)


def test_log_has_the_reason_of_other_refusals(
    acme: Tenant, freebie: Tenant, frozen: Tenant, access_log: AccessLog
) -> None:
    for tenant, path, status, reason in (
        (freebie, "/me", 402, "plan does not include"),
        (frozen, "/me", 403, "suspended"),
        (acme, "/documents?limit=0", 400, "'limit' is not valid"),
        (acme, f"/documents/{uuid4()}", 404, "no such document"),
        (acme, "/nothing", 404, "no such path"),
    ):
        assert tenant.get(path).status == status
        line = access_log()[-1]
        assert reason in line["reason"]
        assert line["path"] == f"/api/v1{path.partition('?')[0]}"  # an id is not cut


def test_log_has_the_cause_of_a_503(json_server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    for cause, proxy in (("database", json_server.database), ("object_storage", json_server.store)):
        proxy.refuse()
        sent = json_server.get(f"/documents/{document.id}/download", acme.raw)
        assert sent.status == 503
        *_, line = json_server.lines_of(sent)
        assert line["cause"] == cause
        assert line["reason"]
        assert "\n" not in line["reason"]
        json_server.restore()


def test_log_of_granian_has_the_same_form() -> None:
    names = ["_granian", "granian.access"]
    program = (
        "from django.conf import settings\n"
        "from granian.log import LogLevels, configure_logging\n"
        "import logging\n"
        "configure_logging(LogLevels.info, settings.LOGGING)\n"
        f"for name in {names}: logging.getLogger(name).info('a line')\n"
    )
    environment = {**os.environ, "LOG_FORMAT": "json"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    found = [json.loads(line) for line in (done.stdout + done.stderr).splitlines()]
    assert sorted((each["logger"], each["message"]) for each in found) == [
        (name, "a line") for name in names
    ]


@pytest.mark.parametrize(
    ("text", "redacted"),
    [
        ("dtd_abcdefgh" + "S" * 32, "dtd_abcdefgh…"),
        (
            "GET /b/k?X-Amz-Credential=AK%2F2026&X-Amz-Signature=0aF9&X-Amz-Expires=30 x",
            "GET /b/k?X-Amz-Credential=…&X-Amz-Signature=…&X-Amz-Expires=30 x",
        ),
        ("?X-Amz-Security-Token=abc", "?X-Amz-Security-Token=…"),
        (
            "AWS4-HMAC-SHA256 Credential=AK/2026, SignedHeaders=host, Signature=0af9",
            "AWS4-HMAC-SHA256 Credential=AK/2026, SignedHeaders=host, Signature=…",
        ),
        ("postgresql://app:s%40cret@db:5432/x", "postgresql://app:…@db:5432/x"),
        ("redis://:secret@cache:6379/0", "redis://:…@cache:6379/0"),
        ("GET /admin/reset/MQ/c8-5a5a/ 200", "GET /admin/reset/MQ/…/ 200"),
        ('{"a":"http://host:80","b":"c@d"}', '{"a":"http://host:80","b":"c@d"}'),
    ],
)
def test_log_redacts_keys_signatures_and_passwords(text: str, redacted: str) -> None:
    assert redact(text) == redacted
    record = logging.LogRecord("any", logging.ERROR, __file__, 1, "%s", (text,), None)
    record.exc_info = (ValueError, ValueError(text), None)
    line = RedactingFormatter("%(message)s").format(record)
    assert line == f"{redacted}\nValueError: {redacted}"


@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028"])
def test_message_of_several_lines_is_one_line_with_the_request_s_id(end: str) -> None:
    """PostgreSQL's have several."""
    text = f"lock timeout{end}LINE 2:   INSERT{end}   ^"
    record = logging.LogRecord("any", logging.ERROR, __file__, 1, "No: %s", (text,), None)
    line = RedactingFormatter("%(request_id)s %(message)s").format(record)
    assert line == "- No: lock timeout LINE 2: INSERT ^"
    assert json.loads(JsonFormatter().format(record))["message"] == line[2:]


@pytest.fixture
def fronts(django_db_setup: None, transactional_db: None, tmp_path: Path) -> Iterator[list[Server]]:
    """Servers of the API and of pages that log as text, and ones behind nginx that log as JSON."""
    program("nginx", "nginx-light")  # before any server runs: without it the test is skipped
    made: list[Server] = []
    for kind, role, form in (
        (Server, "api", "text"),
        (Server, "pages", "text"),
        (Nginx, "api", "json"),
    ):
        folder = tmp_path / f"{role}-{form}"
        folder.mkdir()
        made.append(kind(folder, LOG_FORMAT=form, ROLE=role))
    with contextlib.ExitStack() as stack:
        for each in made:
            stack.enter_context(running(each))
        yield made


def sign_in(server: Server, login: str, password: str) -> list[str]:
    """Signs in to the admin, or fails to; returns the values of the cookies."""

    def cookies(headers: dict[str, str]) -> dict[str, str]:
        return dict(re.findall(r"(csrftoken|sessionid)=(\w+)", headers.get("set-cookie", "")))

    token = cookies(server.request("/admin/login/").headers)["csrftoken"]
    form = urlencode({"username": login, "password": password, "csrfmiddlewaretoken": token})
    response = server.request(
        "/admin/login/?next=/admin/",
        "POST",
        form.encode(),
        cookie=f"csrftoken={token}",
        content_type="application/x-www-form-urlencoded",
    )
    return [token, *cookies(response.headers).values()]


def traffic(server: Server, pages: Server, acme: Tenant, login: str, unknown: str) -> list[str]:
    """Every kind of request, with secrets wherever a client can put them; returns its cookies."""
    document = factories.document(acme.workspace, "COMPLETED")
    factories.recipient(document, email="rosa@recipients.example")
    for raw in (acme.raw, unknown):
        for path in ("/me", f"/documents/{raw}", f"/documents?cursor={raw}&status={raw}"):
            server.get(path, raw, user_agent=f"agent {raw}", referer=f"http://x/?key={raw}")
        server.get("/me", authorization=f"Basic {raw}")
    server.get(f"/documents/{document.id}", acme.raw)
    server.get(f"/documents/{document.id}/download", acme.raw)
    cookies = [
        *sign_in(pages, login, PASSWORD),
        *sign_in(pages, login, f"{PASSWORD}!"),
        *sign_in(pages, TYPED, "x"),
    ]
    for cookie in cookies:
        pages.request(
            f"/admin/documents/document/?q=rosa@recipients.example&key={acme.raw}",
            cookie=f"sessionid={cookie}",
        )
    with renamed("documents_document"):
        server.get(f"/documents?key={acme.raw}", acme.raw)
    for proxy in (server.database, server.store, server.counter):
        proxy.refuse()
        server.get(f"/documents/{document.id}/download?type=signed&a={acme.raw}", acme.raw)
        server.request("/readyz")
        if proxy is server.counter:
            pages.counter.refuse()
            sign_in(pages, login, PASSWORD)
            pages.restore()
        server.restore()
    return cookies


def disguised(raw: str) -> list[str]:
    """A key in forms that the service does not know as one."""
    body = raw.removeprefix("dtd_")
    return [
        body,
        f"DTD_{body}",
        f"dtd-{body}",
        f"dtd%5F{body}",
        f"dtd%255F{body}",
        f"%2564td_{body}",
        f"%64td_{body}",
        f"dtd_{body[:20]}%C2%AD{body[20:]}",
        *(f"{body[:20]}{separator}{body[20:]}" for separator in "-+:_"),
        "".join(f"%{ord(letter):x}" for letter in raw),
        "".join(f"%25{ord(letter):x}" for letter in raw),
    ]


LONG = 15_000  # characters; nginx accepts so many


def test_line_of_a_log_has_a_length_whatever_a_client_sends(
    nginx: Nginx, json_server: Server
) -> None:
    long = "/a" * (LONG // 2)
    for path in (long, f"/api/v1/documents{long}", f"/api/v1/documents?limit={long}"):
        nginx.request(path, user_agent=long)
        nginx.plain(nginx.http_port, path, f"User-Agent: {long}")
    exchange(nginx.connect(), request("/api/v1/me", method="A" * LONG))
    for path in (long, f"/api/v1{long}", "/api/v1/me?q=" + long, "/admin/login/", "/admin" + long):
        last = json_server.request(path, user_agent="ü/" * 200, host=long[:200])
    assert eventually(lambda: last.headers["request-id"] in json_server.log())
    for log in (nginx.written(), nginx.log(), json_server.log()):
        lines = [line for line in log.splitlines() if '"exception"' not in line]  # of other tests
        assert [line for line in lines if len(line.encode()) > 1300] == []


def test_message_of_a_log_has_a_length_and_ends_in_no_half_of_a_secret() -> None:
    text = f"{'a/' * 390}redis://:correcthorsebatterystaple@redis/0 {'b/' * 999}"
    record = logging.LogRecord("any", logging.ERROR, __file__, 1, "%s", (text,), None)
    for formatter in (RedactingFormatter("%(message)s"), JsonFormatter()):
        line = formatter.format(record)
        assert 500 < len(line) < 1200
        assert "correct" not in line


def test_log_that_cannot_be_written_fails_no_request(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Path("/dev/full").open("w", buffering=1) as full:
        monkeypatch.setattr(sys, "stderr", full)
        assert acme.get("/me").status == 200
        logging.StreamHandler(full).handle(logging.makeLogRecord({"msg": "a line"}))
        monkeypatch.undo()
        with contextlib.suppress(OSError):
            full.close()


def test_log_has_no_long_run_of_letters_and_digits_that_a_client_chose(nginx: Nginx) -> None:
    raw, id = keys.generate(), uuid4()
    parts = {raw[20:], raw[-12:], "".join(f"%{ord(letter):x}" for letter in raw[-8:])}
    parts |= {part.replace("%", "%25") for part in parts}
    for text in disguised(raw):
        nginx.get(f"/documents/{text}/download", user_agent=f"Agent/1.0 {text}")
        nginx.get(f"/documents/{text}/{raw}x", user_agent=unquote(text, "latin-1"))
    last = nginx.get(f"/documents/{id}/download", user_agent="Mozilla/5.0 (X11; Linux)")
    line = nginx.logged(last.headers["request-id"])
    assert line["path"] == f"/api/v1/documents/{id}/download"
    assert eventually(lambda: last.headers["request-id"] in nginx.log())
    for log in (nginx.log(), nginx.written()):
        assert str(id) in log
        assert [part for part in parts if part in log] == []


@pytest.mark.slow
@pytest.mark.usefixtures("as_owner")
def test_log_has_no_secret_whatever_happens(fronts: list[Server], acme: Tenant) -> None:
    operator = staff.operator()
    operator.set_password(PASSWORD)
    operator.save()
    unknown = keys.generate()
    secrets = [acme.raw, unknown, acme.raw[12:], unknown[12:], PASSWORD, TYPED]
    secrets += ["rosa@recipients.example", settings.SECRET_KEY]
    secrets += [os.environ["S3_SECRET_ACCESS_KEY"]]
    urls = (os.environ["DATABASE_URL"], os.environ["REDIS_URL"])
    secrets += [password for url in urls if (password := urlsplit(url).password)]
    api, pages, nginx = fronts
    secrets += traffic(api, pages, acme, operator.username, unknown)
    secrets += traffic(nginx, nginx, acme, operator.username, unknown)
    for server in fronts:
        last = server.request("/healthz").headers["request-id"]
        assert eventually(lambda: last in server.log())  # noqa: B023
        server.kill()
        if isinstance(server, Nginx):  # without its application, nginx writes the log alone
            assert server.get(f"/documents/{acme.raw}?a={acme.raw}", acme.raw).status == 503
    logs = [server.log() for server in fronts]
    assert isinstance(nginx, Nginx)
    logs += [nginx.written(), nginx.pages.log()]
    for text in logs:
        assert [secret for secret in secrets if secret in text] == []
        assert not re.search(r"X-Amz-Signature=[0-9a-f]", text)
    assert acme.key.prefix in logs[0]
    assert unknown[:12] in logs[0]
