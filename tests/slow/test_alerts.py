"""deploy/prometheus*.yaml: each alert fires when it must, and not otherwise; promtool evaluates."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.support.nginx import program
from tests.support.server import ROOT

RULES = ROOT / "deploy" / "prometheus-alerts.yaml"
UP = {'up{job="documents-api", instance="one"}': "1x2000"}
HOURS, DAYS = 60, 24 * 60  # minutes
Series = dict[str, str]  # promtool's notation: one value a minute, 1+1x9 is 1, 2, … 10

NGINX = 'node_systemd_unit_state{name="nginx.service", state="active"}'
UNIT = 'node_systemd_unit_state{name="documents-api-seal.service", state="failed"}'
FREE, SIZE = (f'node_filesystem_{what}_bytes{{mountpoint="/var"}}' for what in ("avail", "size"))
OK, BAD = (f'documents_requests_total{{status="{status}"}}' for status in (200, 503))
OPEN, OPENED = (f'documents_breaker_{what}{{part="database"}}' for what in ("open", "opened_total"))
BUCKET = 'documents_request_duration_seconds_bucket{{route="/api/v1/me", le="{}"}}'.format
UNCOUNTED = 'documents_fail_open_total{counter="rate_limit"}'
ENDPOINTS, PROCESSES = "documents_webhooks_endpoints", "documents_webhooks_processes"

# Alert, minutes after which it fires, the series then, minutes, series with which it does not.
CASES: list[tuple[str, int, Series, int, Series]] = [
    ("DocumentsAbsent", 6, {}, 10, UP),
    ("DocumentsInstanceDown", 2, {'up{job="documents-api"}': "0x9"}, 9, UP),
    ("DocumentsInstanceDown", 2, {'up{job="node"}': "0x9"}, 9, {'up{job="node"}': "1x9"}),
    ("DocumentsNginxDown", 2, {NGINX: "0x9"}, 9, {NGINX: "1x9"}),
    ("DocumentsNginxDown", 2, UP, 9, {NGINX: "1x9"}),
    ("DocumentsUnitFailed", 2, {UNIT: "1x9"}, 9, {UNIT: "0x9"}),
    ("DocumentsDiskFull", 6, {FREE: "9x9", SIZE: "100x9"}, 9, {FREE: "11x9", SIZE: "100x9"}),
    ("DocumentsErrors", 11, {OK: "0+90x20", BAD: "0+2x20"}, 20, {OK: "0+900x20", BAD: "0+2x20"}),
    ("DocumentsPartUnavailable", 2, {OPEN: "1x9"}, 9, {OPEN: "0x9"}),
    ("DocumentsPartFlaps", 9, {OPENED: "0+1x9"}, 9, {OPENED: "0 1x8"}),
    ("DocumentsDatabaseUnread", 6, UP, 9, UP | {"documents_audit_sealed_entries": "7x9"}),
    (
        "DocumentsOverloaded",
        11,
        {'documents_slots_refused_total{class="api"}': "0+60x20"},
        20,
        {'documents_slots_refused_total{class="api"}': "0+1x20"},
    ),
    (
        "DocumentsSlow",
        20,
        {BUCKET("1"): "0+90x20", BUCKET("5"): "0+100x20", BUCKET("+Inf"): "0+100x20"},
        20,
        {BUCKET("1"): "0+99x20", BUCKET("5"): "0+100x20", BUCKET("+Inf"): "0+100x20"},
    ),
    ("DocumentsNotCounted", 15, {UNCOUNTED: "0+3x20"}, 20, {UNCOUNTED: "0x5 3x20"}),
    (
        "DocumentsCompletionsLost",
        11,
        {"documents_downloads_without_end_ratio": "0.06x20"},
        20,
        {"documents_downloads_without_end_ratio": "0.04x20"},
    ),
    (
        "DocumentsBackupOld",
        28 * HOURS,
        {"documents_backup_timestamp_seconds": "0x2000"},
        28 * HOURS,
        {"documents_backup_timestamp_seconds": "0x1000 30000x1000"},
    ),
    ("DocumentsAuditNotSealed", 6, {"documents_audit_unsealed_seconds": "601x9"}, 9, UP),
    ("DocumentsAuditForeign", 2, {"documents_audit_foreign": "1x9"}, 9, UP),
    ("DocumentsAuditDamaged", 0, {"documents_audit_verification_failed": "1x9"}, 9, UP),
    (
        "DocumentsAuditNotVerified",
        8 * DAYS + 2 * HOURS,
        {"documents_audit_verified_timestamp_seconds": "0x12000"},
        8 * DAYS + 2 * HOURS,
        {"documents_audit_verified_timestamp_seconds": "0x9000 600000x3000"},
    ),
    (
        "DocumentsWebhooksStopped",
        6,
        {ENDPOINTS: "3x9", PROCESSES: "0x9"},
        9,
        {ENDPOINTS: "3x9", PROCESSES: "1x9"},
    ),
    ("DocumentsWebhooksLate", 6, {"documents_webhooks_overdue_seconds": "301x9"}, 9, UP),
    ("DocumentsMailsLate", 6, {"documents_mails_overdue_seconds": "901x9"}, 9, UP),
    ("DocumentsEventsHeld", 6, {"documents_events_held_seconds": "301x9"}, 9, UP),
]
# The metrics, with values with which these alerts fire.
READ_FROM_DATABASE = {
    "documents_downloads_without_end_ratio": "0.1",
    "documents_audit_unsealed_seconds": "700",
    "documents_audit_foreign": "1",
    "documents_audit_verification_failed": "1",
    ENDPOINTS: "3",
    PROCESSES: "0",
    "documents_webhooks_overdue_seconds": "700",
    "documents_mails_overdue_seconds": "1000",
    "documents_events_held_seconds": "700",
}
READING_ALERTS = (
    "DocumentsCompletionsLost",
    "DocumentsAuditNotSealed",
    "DocumentsAuditForeign",
    "DocumentsAuditDamaged",
    "DocumentsWebhooksStopped",
    "DocumentsWebhooksLate",
    "DocumentsMailsLate",
    "DocumentsEventsHeld",
)
ALERTS = [
    rule["alert"]
    for group in yaml.safe_load(RULES.read_text())["groups"]
    for rule in group["rules"]
]


def group(minutes: int, series: Series, fires: dict[str, int]) -> dict[str, Any]:
    """One of promtool's tests: how many of each alert fire after so many minutes of the series."""
    return {
        "interval": "1m",
        "input_series": [{"series": name, "values": text} for name, text in series.items()],
        "promql_expr_test": [
            {
                "expr": f'count(ALERTS{{alertname="{alert}", alertstate="firing"}}) or vector(0)',
                "eval_time": f"{minutes}m",
                "exp_samples": [{"labels": "{}", "value": count}],
            }
            for alert, count in fires.items()
        ],
    }


def evaluate(folder: Path, groups: list[dict[str, Any]], every: str) -> None:
    """Runs the tests in one process, which names each expression that it finds to be wrong."""
    file = folder / "tests.yaml"
    content = {"rule_files": [str(RULES)], "evaluation_interval": every, "tests": groups}
    file.write_text(yaml.safe_dump(content))
    words = [program("promtool", "prometheus"), "test", "rules", str(file)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_alerts_each_have_a_test() -> None:
    assert {case[0] for case in CASES} == set(ALERTS)


def test_alerts_fire_and_stay_silent(tmp_path: Path) -> None:
    short: list[dict[str, Any]] = []
    long: list[dict[str, Any]] = []
    for alert, after, bad, until, good in CASES:
        groups = [group(after, bad, {alert: 1}), group(until, good, {alert: 0})]
        (long if after > DAYS else short).extend(groups)
    evaluate(tmp_path, short, every="1m")
    evaluate(tmp_path, long, every="1h")  # each minute of days would take a minute


def test_alerts_that_read_the_database_go_on_without_it(tmp_path: Path) -> None:
    """They end when the database says that all is well again."""
    gone = {name: f"{value}x30 stale _x500" for name, value in READ_FROM_DATABASE.items()}
    back = {
        name: f"{value}x30 stale _x100 {int(name in (ENDPOINTS, PROCESSES))}x400"
        for name, value in READ_FROM_DATABASE.items()
    }
    groups = [
        group(300, series, dict.fromkeys(READING_ALERTS, count))
        for series, count in ((gone, 1), (back, 0))
    ]
    evaluate(tmp_path, groups, every="1m")


def test_prometheus_reads_its_files(tmp_path: Path) -> None:
    """The rules are where the guide installs a release; here they are in the checkout."""
    text = (ROOT / "deploy" / "prometheus.yaml").read_text()
    assert "/opt/documents-api/" in text
    file = tmp_path / "prometheus.yml"
    file.write_text(text.replace("/opt/documents-api", str(ROOT)))
    words = [program("promtool", "prometheus"), "check", "config", str(file)]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(ALERTS)} rules found" in done.stdout
