"""manage.py deliver_webhooks: each event arrives, signed, whatever happens to processes."""

import time
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from config.api.responses import as_json
from events import feed
from events.webhooks import policy
from events.webhooks.models import Attempt, Delivery, DeliveryState
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.receiver import (
    Receiver,
    closed_port,
    delivering,
    delivers,
    endpoint,
    start_delivering,
)
from tests.support.server import eventually

pytestmark = pytest.mark.django_db(transaction=True)

PENDING, DELIVERED, FAILED = DeliveryState.values


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "log"


def all_delivered() -> bool:
    return not Delivery.objects.exclude(state=DELIVERED).exists()


def test_event_arrives_signed_with_the_bytes_of_the_feed_s_object(
    acme: Tenant, receiver: Receiver, log: Path
) -> None:
    _, raw = endpoint(acme, receiver.url("/200?token=secret"))
    with delivering(log):
        assert eventually(delivers), log.read_text()
        started = time.monotonic()
        factories.listed(acme.workspace, 1)
        assert eventually(all_delivered), log.read_text()
        assert eventually(lambda: Attempt.objects.exists())
        seconds = time.monotonic() - started
    [received] = receiver.received
    [event] = feed.page(acme.workspace.id, ["document.sent"], None, 1).events
    assert received.body == as_json(event)
    assert received.path == "/200?token=secret"
    assert received.headers["content-type"] == "application/json"
    assert received.headers["host"] == f"127.0.0.1:{receiver.port}"
    Webhook(raw).verify(received.body, received.headers)
    attempt = Attempt.objects.get()
    assert (attempt.number, attempt.status, attempt.response) == (1, 200, "thanks")
    assert 0 <= attempt.milliseconds < seconds * 1000
    text = log.read_text()
    assert f"of {received.id} to endpoint" in text
    assert "token" not in text
    assert "thanks" not in text
    assert "Warning" not in text


def test_two_processes_share_the_work_and_ten_attempts_are_in_progress(
    acme: Tenant, receiver: Receiver, log: Path, tmp_path: Path
) -> None:
    receiver.delay = 0.2
    for number in range(20):
        endpoint(acme, receiver.url(f"/200/{number}"))
    other = tmp_path / "other"
    with delivering(log), delivering(other):
        assert eventually(lambda: delivers() == 2)
        factories.listed(acme.workspace, 20)
        assert eventually(all_delivered), log.read_text()
    assert len(receiver.received) == 400
    assert len({(each.id, each.path) for each in receiver.received}) == 400
    assert max(receiver.most_at_once.values()) <= policy.AT_ONCE
    assert "status 200" in log.read_text()
    assert "status 200" in other.read_text()


def test_endpoints_that_are_dead_or_silent_delay_nobody_else(
    acme: Tenant, umbrella: Tenant, receiver: Receiver, log: Path
) -> None:
    for _ in range(3):
        endpoint(umbrella, f"http://127.0.0.1:{closed_port()}/")
        endpoint(umbrella, receiver.url("/200/slow"))
    factories.listed(umbrella.workspace, 100)  # 600 deliveries that come first
    endpoint(acme, receiver.url())
    factories.listed(acme.workspace, 20)
    ours = Delivery.objects.filter(endpoint__workspace=acme.workspace)
    with delivering(log):
        assert eventually(lambda: not ours.exclude(state=DELIVERED).exists()), log.read_text()
        receiver.stopped.set()
    silent = Delivery.objects.filter(endpoint__url=receiver.url("/200/slow"))
    assert silent.filter(attempts=0).exists()  # theirs were not even begun


def test_process_that_is_stopped_finishes_what_is_in_progress(
    acme: Tenant, receiver: Receiver, log: Path
) -> None:
    receiver.delay = 1.0
    endpoint(acme, receiver.url())
    factories.listed(acme.workspace, 40)
    process = start_delivering(log)
    assert eventually(lambda: receiver.received), log.read_text()
    process.terminate()
    assert process.wait(30) == 0, log.read_text()
    done = Delivery.objects.filter(state=DELIVERED).count()
    assert done == len(receiver.received) < 40
    assert not Delivery.objects.filter(claimed_until__isnull=False).exists()
