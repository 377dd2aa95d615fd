"""The library dtd, against a real server: objects, pages, errors and retries."""

import inspect
import json
import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from types import ModuleType
from typing import Any, get_args

import dtd
import dtd.client
import pytest
from dtd import errors, models
from dtd.errors import APIError

from tests.support import factories
from tests.support.cast import settled
from tests.support.factories import Tenant
from tests.support.nginx import make_certificate
from tests.support.proxy import HOST
from tests.support.receiver import Receiver, receiving
from tests.support.server import ROOT, Server, eventually
from tests.support.webhooks import SECRET, signed


@pytest.fixture
def base(server: Server) -> str:
    return f"http://{HOST}:{server.port}"


@pytest.fixture
def client(base: str, acme: Tenant) -> Iterator[dtd.Client]:
    with dtd.Client(acme.raw, base, patience=5) as made:
        yield made


def test_client_reads_the_environment(
    base: str, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DTD_API_KEY", f"{acme.raw}\n")
    monkeypatch.setenv("DTD_BASE_URL", f"{base}/api/v1/")
    with dtd.Client() as client:
        me = client.me()
    assert (me.workspace.name, me.key.name) == ("Acme", "Acme sync")
    assert me.documents == models.Counts({}, 0, 0, 0)


def test_client_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DTD_API_KEY", raising=False)
    monkeypatch.delenv("DTD_BASE_URL", raising=False)
    for key, base, text in (
        ("", "https://a.example", "set DTD_API_KEY"),
        ("dtd_ключ", "https://a.example", "set DTD_API_KEY"),
        ("dtd_a\nb", "https://a.example", "set DTD_API_KEY"),
        ("dtd_a", "", "set DTD_BASE_URL"),
        ("dtd_a", "a.example", "set DTD_BASE_URL"),
        ("dtd_a", "https://a:b", "set DTD_BASE_URL"),
        ("dtd_a", "https://ada:secret@a.example", "set DTD_BASE_URL"),
        ("dtd_a", "http://a.example", "others can read the key"),
        ("dtd_a", "http://127.0.0.1.a.example", "others can read the key"),
    ):
        with pytest.raises(ValueError, match=text) as refused:
            dtd.Client(key, base)
        assert "secret" not in str(refused.value)
    dtd.Client("dtd_a", "http://a.example", insecure=True).close()
    for near in ("http://localhost:8000", "http://127.0.0.2", "http://[::1]:8000"):
        dtd.Client("dtd_a", near).close()


def test_client_searches_with_each_parameter(client: dtd.Client, acme: Tenant) -> None:
    made = [factories.document(acme.workspace, "COMPLETED", title=f"Lease {n}") for n in range(3)]
    factories.document(acme.workspace, "SENT")
    completed = made[0].completed_at
    assert completed
    wanted = {str(each.id) for each in made}
    from_day = client.search(status=["COMPLETED", "SENT"], completed_from=completed.date())
    assert {each.id for each in from_day} == wanted
    from_time = client.search(completed_from=completed, recipient=None, sort="completed")
    assert {each.id for each in from_time} == wanted
    assert list(client.search(completed_before=completed)) == []
    assert len(list(client.search(status="COMPLETED", limit=2))) == 2
    for wrong in ({"title": ""}, {"limit": -1}):
        with pytest.raises(errors.InvalidParameter, match=f"'{[*wrong][0]}'"):
            list(client.search(**wrong))


def test_client_shows_its_key_nowhere(
    base: str, acme: Tenant, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    with dtd.Client("dtd_never", base, patience=2) as client:
        with pytest.raises(errors.InvalidKey) as refused:
            client.me()
        shown = [repr(client), str(client), repr(refused.value), repr(vars(refused.value))]
    for broken in ("dtd_never\nagain", "dtd_never\x7f"):
        with pytest.raises(ValueError, match="There is no key") as invalid:
            dtd.Client(broken, base)
        shown.append(repr(invalid.value))
    assert caplog.text
    assert "dtd_never" not in "".join([*shown, caplog.text])


def test_client_reads_a_document_with_all_its_fields(client: dtd.Client, acme: Tenant) -> None:
    made = factories.document(acme.workspace, "PARTIALLY_SIGNED", title="Lease № 5")
    signer = factories.recipient(made, "SIGNER", "DECLINED", decline_reason="too dear")
    found = client.document(str(made.id))
    assert (found.id, found.title, found.status) == (str(made.id), "Lease № 5", "PARTIALLY_SIGNED")
    assert found.created_at == made.created_at
    assert found.sent_at is None
    assert found.progress.total == 1
    assert found.links.download == f"/api/v1/documents/{made.id}/download"
    [recipient] = found.recipients
    assert (recipient.id, recipient.decline_reason) == (str(signer.id), "too dear")
    assert [found] == list(client.documents())


def test_models_have_the_fields_and_values_of_the_openapi_document() -> None:
    schemas = json.loads((ROOT / "docs/openapi.json").read_text())["components"]["schemas"]
    names = {"Document": "WorkspaceDocument", "Event": "DocumentEvent", "Me": "Summary"}
    found = [kind for kind in vars(models).values() if isinstance(kind, type)]
    classes = [kind for kind in found if issubclass(kind, models.Model) and kind != models.Model]
    for kind in classes:
        schema = schemas[names.get(kind.__name__, kind.__name__)]
        found_keys = [models.camel(each.name) for each in fields(kind)[1:]]
        assert found_keys == list(schema["properties"])
    assert len(classes) == 10
    for name in ("DocumentStatus", "SigningOrder", "RecipientRole", "RecipientStatus"):
        assert list(get_args(getattr(models, name))) == schemas[name]["enum"]
    types = schemas["DocumentEvent"]["properties"]["type"]["description"]
    filters = list(get_args(models.FeedType))
    assert filters == re.findall(r"`(document\.\w+)`", types)
    assert list(get_args(models.EventType)) == [*filters, "webhook.test"]


def test_models_keep_what_they_do_not_know() -> None:
    raw = {"id": "evt_1", "type": "document.shredded", "timestamp": "2026-03-02T08:15:03Z"}
    raw_event = raw | {"data": {"id": "a", "status": "SHREDDED", "by": "Ada"}, "more": [1]}
    event = models.Event.parse(raw_event)
    assert event.type == "document.shredded"
    assert event.data.status == "SHREDDED"
    assert event.raw == raw_event
    assert event.timestamp == datetime(2026, 3, 2, 8, 15, 3, tzinfo=UTC)
    with pytest.raises(errors.InvalidResponse, match="not a Event"):
        models.Event.parse(raw)


def test_documents_are_read_from_all_pages(client: dtd.Client, acme: Tenant) -> None:
    made = {str(each.id) for each in factories.listed(acme.workspace, 205)}
    drafts = {str(each.id) for each in factories.listed(acme.workspace, 3, status="DRAFT")}
    for found in (client.documents(), client.search()):
        listed = [each.id for each in found]
        assert len(listed) == 208
        assert set(listed) == made | drafts
    assert {each.id for each in client.documents(status="DRAFT")} == drafts
    assert [len(list(client.documents(limit=n))) for n in (0, 2, 100, 102)] == [0, 2, 100, 102]


def test_events_are_read_to_the_last_one(client: dtd.Client, acme: Tenant) -> None:
    events = client.events(after="now")
    assert list(events) == []
    start = events.cursor
    made = [factories.document(acme.workspace, "SENT") for _ in range(3)]
    assert eventually(settled)
    cursors = [events.cursor for _ in events]
    assert cursors == [start] * 6  # none of them is skipped by a process that is killed here
    assert events.cursor != start
    assert list(events) == list(client.events(after=events.cursor)) == []
    sent = list(client.events(after=start, type="document.sent"))
    assert [event.data.id for event in sent] == [str(each.id) for each in made]
    assert {event.data.status for event in sent} == {"SENT"}


def test_errors_have_one_class_for_each_code_of_the_openapi_document() -> None:
    headers = json.loads((ROOT / "docs/openapi.json").read_text())["components"]["headers"]
    assert list(errors.CLASSES) == headers["Error-Code"]["schema"]["enum"]


def test_errors_have_the_request_id(
    base: str, client: dtd.Client, umbrella: Tenant, freebie: Tenant, frozen: Tenant
) -> None:
    foreign = factories.document(umbrella.workspace)
    with pytest.raises(errors.DocumentNotFound) as missing:
        client.document(str(foreign.id))
    assert (missing.value.status, missing.value.code) == (404, "document_not_found")
    assert re.fullmatch("[0-9a-f]{32}", missing.value.request_id)
    text = f"There is no such document in this workspace. (Request-Id {missing.value.request_id})"
    assert str(missing.value) == text
    with pytest.raises(errors.InvalidParameter, match="'status'"):
        list(client.documents(status="PARTIALLY_SIGNED"))
    with pytest.raises(errors.PlanLimit) as plan, dtd.Client(freebie.raw, base) as other:
        other.me()
    assert plan.value.body["details"]["code"] == "plan_limit"
    with pytest.raises(errors.WorkspaceSuspended), dtd.Client(frozen.raw, base) as other:
        other.me()


@pytest.mark.parametrize("id", ["", ".", "..", "../me", "a/b", "a?b", "a#b", "%2e", "a\n", "ü"])
def test_document_refuses_an_id_that_would_change_the_path(client: dtd.Client, id: str) -> None:
    with pytest.raises(ValueError, match="not the id of a document"):
        client.document(id)


ME = json.dumps(
    {
        "data": {
            "workspace": {"id": "w", "name": "W"},
            "key": {"id": "k", "name": "K"},
            "documents": {"draft": 0, "sent": 0, "completed": 0},
        }
    }
)
Script = Callable[..., dtd.Client]


@pytest.fixture
def script(receiver: Receiver) -> Iterator[Script]:
    """Makes a client of a server that responds like this, as the service does rarely."""
    with ExitStack() as clients:

        def make(*responses: tuple[int, dict[str, str], str], patience: float = 5) -> dtd.Client:
            receiver.received.clear()
            receiver.script = [(status, head, body.encode()) for status, head, body in responses]
            base = receiver.url("/below")
            return clients.enter_context(dtd.Client("dtd_a", base, patience=patience))

        yield make


@pytest.mark.slow
def test_client_waits_as_long_as_retry_after_says(script: Script, receiver: Receiver) -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=3), usegmt=True)
    began = time.monotonic()
    script((429, {"Retry-After": "1"}, ""), (503, {"Retry-After": later}, ""), (200, {}, ME)).me()
    first, second, third = (each.at for each in receiver.received)
    assert second - first >= 1
    assert third - began >= 1.8


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 410, 500, 501, 502, 504])
def test_client_retries_nothing_else(script: Script, receiver: Receiver, status: int) -> None:
    client = script((status, {}, "<html>"), (200, {}, ME))
    with pytest.raises(APIError, match=f"responded with {status}") as refused:
        client.me()
    assert type(refused.value) is APIError
    assert len(receiver.received) == 1


def test_client_waits_no_longer_than_a_minute_or_its_patience_before_a_request(
    script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits: list[float] = []
    monkeypatch.setattr("dtd.client.time.sleep", waits.append)
    for left in ("r=0;t=999999999", "r=0;t=60", f"r=0;t={'9' * 5000}"):
        for patience in (5, 120):
            client = script((200, {"RateLimit": f'"key";{left}'}, ME), patience=patience)
            client.me()
            client.me()
    assert [round(seconds) for seconds in waits] == [5, 60] * 3


@pytest.mark.slow
def test_client_keeps_to_its_time_limit(script: Script, receiver: Receiver) -> None:
    client = script((503, {"Retry-After": "1"}, '{"error": "Busy."}'), patience=2.5)
    with pytest.raises(APIError, match="Busy"):
        client.me()
    assert len(receiver.received) == 3
    client = script((429, {"Retry-After": "60"}, ""), patience=5)
    with pytest.raises(APIError):
        client.me()
    assert len(receiver.received) == 1  # a second one would be too late


def test_errors_have_no_control_characters_of_the_service(script: Script) -> None:
    body = json.dumps({"error": "a\x1b]0;b\x07\u202ec\x9bd\ne"})
    client = script((404, {"Request-Id": "f"}, body))
    with pytest.raises(APIError) as refused:
        client.me()
    assert str(refused.value) == "a ]0;b  c d e (Request-Id f)"


def test_client_says_that_an_address_is_not_the_api(script: Script) -> None:
    for body in ("<html>", "[]", "{}"):
        client = script((200, {}, body))
        with pytest.raises(errors.InvalidResponse, match="check the base URL"):
            client.me()


def test_client_can_be_shared_by_threads(client: dtd.Client, acme: Tenant) -> None:
    made = {str(each.id) for each in factories.listed(acme.workspace, 120)}
    with ThreadPoolExecutor(8) as threads:
        lists = list(threads.map(lambda _: client.documents(), range(8)))
        seen = list(threads.map(lambda found: {each.id for each in found}, lists))
    assert seen == [made] * 8


def test_client_trusts_a_ca_file_and_does_not_retry_without_it(tmp_path: Path) -> None:
    with receiving(certificate=make_certificate(tmp_path / "tls")) as https:
        https.content = ME.encode()
        base = https.url(host="localhost")
        with dtd.Client("dtd_a", base, ca_file=tmp_path / "tls" / "certificate.pem") as client:
            assert client.me().workspace.name == "W"
        with (
            dtd.Client("dtd_a", base) as client,
            pytest.raises(errors.Error, match="CERTIFICATE_VERIFY_FAILED"),
        ):
            client.me()
    assert len(https.received) == 1


def test_webhooks_unwrap_returns_a_typed_event() -> None:
    body, headers = signed("a")
    event = dtd.webhooks.unwrap(body, headers, SECRET)
    assert event.type == "document.completed"
    assert event.data.id == "a"
    for wrong in (b"{}", body.replace(b"COMPLETED", b"DECLINED"), b"\xff"):
        with pytest.raises(errors.InvalidSignature):
            dtd.webhooks.unwrap(wrong, headers, SECRET)
    for name in headers:
        fewer = {key: value for key, value in headers.items() if key != name}
        with pytest.raises(errors.InvalidSignature):
            dtd.webhooks.unwrap(body, fewer, SECRET)


DOCUMENTED = [dtd, dtd.client.Client, dtd.errors, dtd.webhooks.unwrap, ROOT / "client/README.md"]


@pytest.mark.parametrize("what", DOCUMENTED)
def test_docstrings_and_readme_have_examples_that_work(
    what: ModuleType | type | Path,
    base: str,
    acme: Tenant,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    made = factories.document(acme.workspace, "COMPLETED")
    assert eventually(settled)
    monkeypatch.setenv("DTD_API_KEY", acme.raw)
    monkeypatch.setenv("DTD_BASE_URL", base)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agreements").mkdir()
    body, headers = signed(made.id)

    class Request:
        pass

    request, queue = Request(), set[str]()
    request.body, request.headers = body, headers  # type: ignore[attr-defined]
    text = what.read_text() if isinstance(what, Path) else inspect.getdoc(what) or ""
    with dtd.Client() as client:
        names: dict[str, Any] = {
            "dtd": dtd,
            "client": client,
            "id": str(factories.uid(9)),
            "secret": SECRET,
        }
        [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        names |= {"request": request, "queue": queue}
        exec(code, names)  # noqa: S102
        names["client"].close()
    shown = capsys.readouterr().out
    expected = {
        dtd: made.title,
        dtd.client.Client: "Acme\n",
        dtd.errors: "There is no such document",
        dtd.webhooks.unwrap: "",
        DOCUMENTED[-1]: f"{made.title} 0\n",
    }
    assert expected[what] in shown
    assert queue == ({str(made.id)} if what is dtd.webhooks.unwrap else set())
    assert len(list((tmp_path / "agreements").iterdir())) == (what is dtd.client.Client)
