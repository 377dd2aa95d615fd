"""Metrics: what is counted, under few labels, for dashboard and alerts."""

import re
import time
from typing import Any

import pytest
import yaml
from django.core.management import call_command
from prometheus_client.parser import text_string_to_metric_families

from tests.support import factories, seals
from tests.support.factories import Tenant
from tests.support.server import ROOT, Server, eventually, other_connections

DEPLOY = ROOT / "deploy"
LONGEST = 4.0  # seconds that the metrics may take, whatever is silent


def value(server: Server, name: str, **labels: str) -> float:
    """One sample, 0 if there is none yet."""
    for family in text_string_to_metric_families(server.metrics()):
        for sample in family.samples:
            if sample.name == name and sample.labels == labels:
                return float(sample.value)
    return 0.0


def test_metrics_count_requests_by_route_and_status(server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    route = "/api/v1/documents/<str:id>"
    requests = {
        (f"/documents/{document.id}", route, "200"): acme.raw,
        ("/documents/nothing", route, "404"): acme.raw,
        ("/me", "/api/v1/me", "401"): None,
        ("/no/such/path", "other", "404"): acme.raw,
    }
    for (path, label, status), raw in requests.items():
        labels = {"method": "GET", "route": label, "status": status}
        before = value(server, "documents_requests_total", **labels)
        timed = value(server, "documents_request_duration_seconds_count", route=label)
        server.get(path, raw)
        assert value(server, "documents_requests_total", **labels) == before + 1
        counted = value(server, "documents_request_duration_seconds_count", route=label)
        assert counted == timed + 1


def test_metrics_have_no_label_that_a_client_invents(server: Server, acme: Tenant) -> None:
    server.get("/made/up/by/a/client", acme.raw)
    server.request("/also-made-up")
    server.raw(b"MADEUP /api/v1/me HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    text = server.metrics()
    assert "made" not in text.lower()
    assert 'method="other"' in text


def test_metrics_count_what_is_not_counted_without_redis(server: Server, acme: Tenant) -> None:
    open_before = value(server, "documents_fail_open_total")
    server.counter.refuse()
    assert server.get("/me", acme.raw).status == 200
    server.restore()
    assert value(server, "documents_fail_open_total") == open_before + 1


def test_metrics_have_the_ages_of_the_audit_log_s_seals_and_backup(
    as_owner: None, server: Server
) -> None:
    def unsealed() -> float:
        return round(value(server, "documents_audit_unsealed_seconds"), -1)

    assert unsealed() == 0
    [old, *_] = seals.written(20)
    seals.grow_older(old, seconds=1000)
    assert unsealed() == 1000
    seals.seal()
    assert unsealed() == 0
    assert value(server, "documents_backup_timestamp_seconds") == 0
    call_command("record_backup")
    backup = value(server, "documents_backup_timestamp_seconds")
    assert backup == pytest.approx(time.time(), abs=60)


def test_metrics_of_the_audit_log_leave_no_connection(server: Server) -> None:
    server.metrics()
    before = len(other_connections())
    for _ in range(5):
        server.metrics()
    assert eventually(lambda: len(other_connections()) <= before)


@pytest.mark.parametrize("how", ["refuse", "silence"])
def test_metrics_without_the_database_are_the_others_in_time(server: Server, how: str) -> None:
    getattr(server.database, how)()
    started = time.monotonic()
    text = server.metrics()
    assert time.monotonic() - started < LONGEST
    assert "documents_audit_" not in text
    assert "documents_requests_total" in text
    server.restore()
    assert eventually(lambda: "documents_audit_unsealed_seconds" in server.metrics())


def alerts() -> list[dict[str, Any]]:
    groups = yaml.safe_load((DEPLOY / "prometheus-alerts.yaml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


def metrics_in(query: str) -> set[str]:
    return set(re.findall(r"\b(?:documents|process|node)_\w+|\bup\b", query))


def test_alerts_name_a_section_that_exists() -> None:
    reference = (ROOT / "docs" / "reference.md").read_text()
    for alert in alerts():
        file, _, anchor = alert["annotations"]["page"].partition("#")
        titles = re.findall(r"^#+ (.*)$", (ROOT / file).read_text(), re.M)
        anchors = {re.sub(r"[^\w -]", "", each.lower()).replace(" ", "-") for each in titles}
        assert anchor in anchors, alert["alert"]
        assert f"`{alert['alert']}`" in reference


def test_alerts_name_only_metrics_that_the_server_has(server: Server) -> None:
    named = metrics_in(" ".join(alert["expr"] for alert in alerts()))
    families = list(text_string_to_metric_families(server.metrics()))
    counters = {f"{family.name}_total" for family in families if family.type == "counter"}
    buckets = {f"{family.name}_bucket" for family in families if family.type == "histogram"}
    served = {family.name for family in families} | counters | buckets
    assert named
    assert {name for name in named - served if name.startswith(("documents", "process"))} == set()
