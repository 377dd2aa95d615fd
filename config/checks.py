"""System checks: what is wrong with this installation, what to do about it, and facts.

`manage.py check` has what the service refuses to start with, `--deploy` what should not be
deployed, and `--deploy --database default` asks each service too. The page System has the same
list, and `/readyz` a part of it. The apps have more, in `checks.py` or `monitoring.py`.
"""

import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from typing import Any

from cryptography import x509
from django.conf import settings
from django.core.checks import CheckMessage, Debug, Error, Info, Tags, Warning, register  # noqa: A004
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils import timezone
from django.utils.module_loading import import_string
from psycopg import Cursor

from config import cache, env, version
from config.connections import fetch, processes
from config.request.redaction import redact

DATABASE = "Check `DATABASE_URL`, and that PostgreSQL runs."
SECONDS = 2.0  # for each response of another program
HOUSEKEEPING = "housekeeping"  # the process, and its connections
AUDIT_LOG, FILES, EMAILS = "audit log", "documents' files", "e-mails"
LOST = "documents.E003"  # a file is lost: `documents.overview.lost` tells the admins concerned
TLS, NGINX = Path("/etc/documents-api/tls"), ("127.0.0.1", 443)

Found = Iterator[CheckMessage]

asked: dict[str, tuple[str, float]] = {}  # by thread: which part it asks, and since when


def look_at(name: str, *, missing: bool = False) -> str:
    """The hint that leads to a process: of `make run`, or a unit of deploy/install."""
    if settings.ON_LAPTOP:
        return "End `make run`, and start it again."
    hangs = " If it is running, it has stopped responding: restart it." if missing else ""
    return f"Look at `journalctl -u documents-api-{name}`.{hangs}"


def words_of(exc: Exception) -> CheckMessage:
    """What a library says of an error, which is a detail."""
    why = str(exc).strip().partition("\n")[0] or type(exc).__name__
    return Debug(f"The error was: {redact(why).removesuffix('.')}.")


def asks_service(part: str, name: str, *tags: str, hint: str) -> Callable[..., Any]:
    """Registers a check that asks a service, for `--deploy --database default`.

    A finding belongs to `part` of the installation, unless the check has set another part in `obj`.
    A service that does not respond is an error with this hint. What was found before it stays.
    In ids, the name "config.004" becomes "config.E004", or W or I. `/readyz` looks for the tags.
    """

    def decorate(find: Callable[[], Any]) -> Callable[..., list[CheckMessage]]:
        @register(Tags.database, *tags, deploy=True)
        def check(databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
            if not databases:
                return []
            found: list[CheckMessage] = []
            asked[threading.current_thread().name] = part, time.monotonic()
            try:
                found.extend(find() or [])
            except Exception as exc:
                found += [Error("The check has failed.", hint=hint), words_of(exc)]
            for each in found:
                each.obj = each.obj or part
                each.id = name.replace(".", f".{type(each).__name__[0]}")
                if isinstance(each, Info):  # a fact: there is nothing to do
                    each.hint = None
            return found

        return check

    return decorate


@register()
def environment(**kwargs: Any) -> list[CheckMessage]:
    return [
        Error(f"{each.name} is not set.", f"Set it to {each.help}.", "settings", "config.E001")
        for each in env.missing()
    ]


@asks_service("database", "config.002", "readyz database", hint=DATABASE)
def database() -> Found:
    executor = MigrationExecutor(connection)
    if plan := executor.migration_plan(executor.loader.graph.leaf_nodes()):
        text = f"Migrations are missing: {', '.join(str(migration) for migration, _ in plan)}."
        yield Error(text, hint="Run `deploy/manage migrate`.")
    [(number, role)] = fetch("SELECT current_setting('server_version'), current_user", [])
    yield Info(f"PostgreSQL {number}, in the role {role}.")
    yield Debug(f"{version.line()}.", obj="release")


@asks_service("database", "config.005", hint="PgBouncer needs `max_prepared_statements`.")
def prepared_statements() -> None:
    """Two sessions prepare statements with the same name in turn, as threads of the API do."""
    with closing(connection.copy()) as first, closing(connection.copy()) as second:
        for _ in range(3):
            for statement, session in (("SELECT 1", first), ("SELECT 2", second)):
                session.ensure_connection()
                Cursor(session.connection).execute(statement, prepare=True)


@asks_service("rate limit", "config.003", "readyz counter", hint="Check `REDIS_URL` and Redis.")
def redis() -> Found:
    cache.check()
    if settings.COUNT_IN_PROCESS and not settings.ON_LAPTOP:
        text = "Each process counts requests and allows the whole rate limit."
        hint = "Set `REDIS_URL` to `redis://HOST:PORT/NUMBER`, unless the service is one process."
        yield Warning(text, hint=hint)
    else:
        yield Info(f"{'This process' if settings.COUNT_IN_PROCESS else 'Redis'} counts requests.")


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS).stdout  # noqa: S603


LONG = timedelta(minutes=10)  # for a transaction

# PostgreSQL shows other roles' sessions to a member of pg_read_all_stats. A second sealer waits for
# an advisory lock as long as the first one lives. One that writes holds back the events and the
# seals, whatever the database.
_IN_THE_WAY = """
    SELECT concat('pid ', pid, ' (', concat_ws(', ', usename, nullif(application_name, ''), state,
            'database ' || nullif(datname, current_database())), ')'),
        extract(epoch FROM clock_timestamp() - xact_start)::int,
        concat('SELECT pg_terminate_backend(', pid, ')')
    FROM pg_stat_activity WHERE datname = current_database() AND xact_start < now() - interval '2 s'
        AND pid IN (
            SELECT unnest(pg_blocking_pids(pid)) FROM pg_stat_activity
            WHERE wait_event_type = 'Lock' AND wait_event <> 'advisory')
        OR (datname = current_database() OR backend_xid IS NOT NULL)
            AND xact_start < now() - %(long)s AND backend_type = 'client backend'
    UNION ALL
    SELECT concat(owner, ' (prepared, database ', database, ')'),
        extract(epoch FROM clock_timestamp() - prepared)::int,
        concat('ROLLBACK PREPARED ', quote_literal(gid))
    FROM pg_prepared_xacts WHERE prepared < now() - %(long)s
"""


@asks_service("server", "config.004", hint="Run as root: `systemctl status`.")
def operation() -> Found:
    """Transactions in the way, housekeeping, and units, clock and certificate of deploy/install."""
    for whose, seconds, end in fetch(_IN_THE_WAY, {"long": LONG}):
        text = f"A transaction of {whose}, {seconds:,} s old, is in the way of others."
        yield Warning(text, f"If it should not go on, run as postgres: `{end}`.", "database")
    sessions = import_string(f"{settings.SESSION_ENGINE}.SessionStore").get_model_class().objects
    if not processes(HOUSEKEEPING):
        text = "No process sends e-mails, or deletes what is old."
        yield Error(text, look_at(HOUSEKEEPING, missing=True), HOUSEKEEPING)
    elif sessions.filter(expire_date__lt=timezone.now() - timedelta(hours=1)).exists():
        text = "Sessions that have ended are still there."
        yield Warning(text, look_at(HOUSEKEEPING), HOUSEKEEPING)
    else:
        yield Info("A process sends e-mails, and deletes what is old.", obj=HOUSEKEEPING)
    if Path("/run/systemd/system").exists():
        options = ("--failed", "--plain", "--no-legend", "documents-api*")
        for line in _run("systemctl", "list-units", *options).splitlines():
            unit = line.split()[0]
            yield Error(f"{unit} has failed.", hint=f"Look at `journalctl -u {unit}`.")
        clock = _run("timedatectl", "show", "--property", "NTPSynchronized", "--value").strip()
        kind = Warning if clock == "no" else Info
        text = f"The clock is synchronised: {clock or 'unknown'}."
        yield kind(text, hint="Install systemd-timesyncd.")
    if TLS.exists():
        pem = ssl.get_server_certificate(NGINX, timeout=SECONDS)
        ends = x509.load_pem_x509_certificate(pem.encode()).not_valid_after_utc
        days = (ends - timezone.now()).days
        level = Error if days < 7 else Warning if days < 21 else Info
        hint = "Renew it; then run `systemctl reload nginx`."
        yield level(f"The certificate ends in {days} days.", hint=hint)
