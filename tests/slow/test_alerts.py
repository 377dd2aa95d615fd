"""deploy/prometheus-alerts.yaml: each alert fires when it must, and only then, says promtool."""

import subprocess
from pathlib import Path
from typing import Any

import yaml

from tests.support.nginx import program
from tests.support.server import ROOT

RULES = ROOT / "deploy" / "prometheus-alerts.yaml"
UP = {'up{job="documents-api", instance="one"}': "1x2000"}
HOURS = 60  # minutes
Series = dict[str, str]  # promtool's notation: one value a minute, 1+1x9 is 1, 2, … 10

NGINX = 'node_systemd_unit_state{name="nginx.service", state="active"}'
UNIT = 'node_systemd_unit_state{name="documents-api-nightly.service", state="failed"}'
FREE, SIZE = (f'node_filesystem_{what}_bytes{{mountpoint="/var"}}' for what in ("avail", "size"))
OK, BAD = (f'documents_requests_total{{status="{status}"}}' for status in (200, 503))
BUCKET = 'documents_request_duration_seconds_bucket{{route="/api/v1/me", le="{}"}}'.format
BACKUP = "documents_backup_timestamp_seconds"
HELD = "documents_events_held_seconds"
OVERDUE = "documents_webhooks_overdue_seconds"
UNSEALED = "documents_audit_unsealed_seconds"

# Alert, minutes after which it fires, the series then, minutes, series with which it does not.
CASES: list[tuple[str, int, Series, int, Series]] = [
    ("DocumentsDown", 2, {}, 10, UP),
    ("DocumentsDown", 2, {'up{job="documents-api"}': "0x9"}, 9, UP),
    ("DocumentsDown", 2, UP | {'up{job="node"}': "0x9"}, 9, UP | {'up{job="node"}': "1x9"}),
    ("DocumentsUnitFailed", 2, {NGINX: "0x9"}, 9, {NGINX: "1x9"}),
    ("DocumentsUnitFailed", 2, {UNIT: "1x9"}, 9, {UNIT: "0x9"}),
    ("DocumentsDiskFull", 6, {FREE: "9x9", SIZE: "100x9"}, 9, {FREE: "11x9", SIZE: "100x9"}),
    ("DocumentsErrors", 11, {OK: "0+90x20", BAD: "0+2x20"}, 20, {OK: "0+900x20", BAD: "0+2x20"}),
    (
        "DocumentsSlow",
        20,
        {BUCKET("1"): "0+90x20", BUCKET("5"): "0+100x20", BUCKET("+Inf"): "0+100x20"},
        20,
        {BUCKET("1"): "0+99x20", BUCKET("5"): "0+100x20", BUCKET("+Inf"): "0+100x20"},
    ),
    (
        "DocumentsNotCounted",
        15,
        {"documents_fail_open_total": "0+3x20"},
        20,
        {"documents_fail_open_total": "0x5 3x20"},
    ),
    (
        "DocumentsBackupOld",
        28 * HOURS,
        {BACKUP: "0x2000"},
        28 * HOURS,
        {BACKUP: "0x1000 30000x1000"},
    ),
    ("DocumentsEventsHeld", 6, {HELD: "301x9"}, 9, {HELD: "299x9"}),
    ("DocumentsWebhooksLate", 6, {OVERDUE: "301x9"}, 9, UP),
    (  # without the database it goes on, until that says that all is well again
        "DocumentsWebhooksLate",
        300,
        {OVERDUE: "700x30 stale _x500"},
        300,
        {OVERDUE: "700x30 stale _x100 0x400"},
    ),
    (
        "DocumentsAuditNotSealed",
        6,
        {UNSEALED: "601x9"},
        9,
        UP,  # nobody seals here
    ),
]
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


def test_alerts_fire_and_stay_silent(tmp_path: Path) -> None:
    assert {case[0] for case in CASES} == set(ALERTS)
    short: list[dict[str, Any]] = []
    long: list[dict[str, Any]] = []
    for alert, after, bad, until, good in CASES:
        groups = [group(after, bad, {alert: 1}), group(until, good, {alert: 0})]
        (long if after > 24 * HOURS else short).extend(groups)
    evaluate(tmp_path, short, every="1m")
    evaluate(tmp_path, long, every="1h")  # each minute of days would take a minute
