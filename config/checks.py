"""System checks: what is wrong with this installation, what to do about it, and facts.

`manage.py check` has what the service refuses to start with, `--deploy` what should not be
deployed, and `--deploy --database default` asks each service too. The page System has the same
list. The apps have more in their own `checks.py`.
"""

import os
import socket
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, Tags, Warning, register  # noqa: A004
from django.db import connection

from config import cache, env, version
from config.runtime import health
from config.runtime.database import part_limits
from config.runtime.logs import redact

QUICK = "quick"  # the tag of checks that ask PostgreSQL alone: the start page has their findings
SECONDS = 2.0  # for a statement, or for the response of another program
DATABASE = "Check DATABASE_URL, and that PostgreSQL runs."
TLS, NGINX = Path("/etc/documents-api/tls"), ("127.0.0.1", 443)  # as deploy/install makes it

Level = type[Error | Warning | Info]
Found = Iterator[tuple[Level, str, str]]  # with a text and a hint


def finds(name: str, *tags: str, hint: str = "", deploy: bool = True) -> Callable[..., Any]:
    """Registers a check.

    Args:
        name: such as "config.007": the id of its errors is then "config.E007".
        tags: with `Tags.database` it asks a service, and with `QUICK` only PostgreSQL.
        hint: what to do if the service does not respond.
    """
    app, number = name.split(".")

    def decorate(read: Callable[[], Found]) -> Callable[..., list[CheckMessage]]:
        @register(*tags, deploy=deploy)
        def check(databases: Any = None, **kwargs: Any) -> list[CheckMessage]:
            if Tags.database in tags and not databases:
                return []
            try:
                with part_limits(SECONDS) if QUICK in tags else nullcontext():
                    found = [*read()]
            except Exception as exc:
                why = str(exc).strip().partition("\n")[0] or type(exc).__name__
                found = [(Error, f"{read.__name__.replace('_', ' ').capitalize()}: {why}", hint)]
            return [
                level(
                    redact(text),
                    hint=None if level is Info else hint,
                    id=f"{app}.{level.__name__[0]}{number}",
                )
                for level, text, hint in found
            ]

        return check

    return decorate


@finds("config.001", deploy=False)
def environment() -> Found:
    """What the service refuses to start with."""
    for each in env.missing():
        yield Error, f"{each.name} is not set.", f"Set it to {each.help}."
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        if key != "not-set" and (len(key) < 50 or len(set(key)) < 5):
            yield Error, "SECRET_KEY or a fallback can be guessed.", "Use 50 random characters."
    if "*" in settings.ALLOWED_HOSTS:  # links would lead to whatever host a client names
        yield Error, "ALLOWED_HOSTS accepts every host.", "Set it to the service's own host names."
    if settings.DEBUG and settings.HTTPS_ONLY:
        yield Error, "DEBUG is on: pages show tracebacks.", "Leave DEBUG unset."


@finds("config.002")
def deployment() -> Found:
    """What the service starts with, although it should not be deployed like that."""
    if settings.UPGRADE_URL.startswith("https://example.com/"):
        hint = "Set UPGRADE_URL to the page where a workspace admin changes the plan."
        yield Error, "A 402 leads customers to https://example.com/.", hint
    if settings.COUNT_IN_PROCESS:
        hint = "Set it to redis://HOST:PORT/NUMBER, unless the service is one process."
        yield Warning, "REDIS_URL is memory://: each process allows the whole rate limit.", hint
    if not settings.HTTPS_ONLY:
        text = "HTTPS_ONLY is off: keys and passwords may be sent unencrypted."
        yield Warning, text, "Leave HTTPS_ONLY unset."
    elif not settings.TRUSTED_PROXIES:
        text = "TRUSTED_PROXIES is 0: behind nginx, every request seems to be unencrypted."
        yield Warning, text, "Set it to the number of proxies, 1 with deploy/nginx.conf."
    if settings.SECOND_FACTOR == "nobody":
        text = "SECOND_FACTOR is nobody: a password is enough to sign in as an operator."
        yield Warning, text, "Leave SECOND_FACTOR unset."
    for name in sorted(os.environ.keys() - env.VARIABLES.keys()):
        for like in get_close_matches(name, env.VARIABLES, 1, 0.85):
            yield Warning, f"{name} is no variable of the service.", f"Perhaps: {like}"


@finds("config.003", Tags.database, QUICK, hint=DATABASE)
def database() -> Found:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), current_user")
        number, role = cursor.fetchall()[0]
    yield Info, f"{version.line()}, with PostgreSQL {number} as {role}.", ""
    if missing := health.unapplied():
        yield Error, f"The database lacks {', '.join(missing)}.", "Run: deploy/manage migrate"


# PostgreSQL shows other roles' sessions to a member of pg_read_all_stats. A second sealer waits for
# an advisory lock as long as the first one lives.
_LONG = """
    SELECT pid, usename, application_name, state,
        extract(epoch FROM clock_timestamp() - xact_start)::int, (
            SELECT string_agg(DISTINCT relation::regclass::text, ', ') FROM pg_locks
            WHERE pg_locks.pid = session.pid AND granted AND mode = 'AccessExclusiveLock'
                AND relation IN (SELECT relid FROM pg_stat_user_tables)
        ), (
            SELECT count(*) FROM pg_stat_activity AS waiting
            WHERE wait_event_type = 'Lock' AND wait_event <> 'advisory'
                AND session.pid = ANY (pg_blocking_pids(waiting.pid))
        )
    FROM pg_stat_activity AS session
    WHERE datname = current_database() AND pid <> pg_backend_pid()
        AND backend_type = 'client backend' AND xact_start < clock_timestamp() - interval '2 s'
"""


@finds("config.004", Tags.database, QUICK, hint=DATABASE)
def transactions() -> Found:
    """Who keeps others from a table, and whose transaction does not end."""
    with connection.cursor() as cursor:
        cursor.execute(_LONG)
        sessions = cursor.fetchall()
    for pid, role, application, state, seconds, tables, waiting in sessions:
        text = f"A transaction of pid {pid} ({role}, {application or '-'}; {state}) has lasted for "
        text += f"{seconds:,} s; it has locked {tables or 'no table'}, {waiting} wait for it."
        hint = f"If it should not go on, run as postgres: SELECT pg_terminate_backend({pid})"
        if tables or waiting or (seconds > 60 and state.startswith("idle")):
            yield Error, text, hint
        else:
            yield Warning if seconds > 3600 else Info, text, hint


@finds("config.005", Tags.database, QUICK, hint=DATABASE)
def housekeeping() -> Found:
    """Whether it runs: every ten minutes, it deletes the sessions that have expired."""
    sessions = import_module(settings.SESSION_ENGINE).SessionStore.get_model_class().objects
    oldest = sessions.order_by("expire_date").values_list("expire_date", flat=True).first()
    late = time.time() - oldest.timestamp() if oldest else 0.0
    text = f"Housekeeping is {max(late, 0) / 60:,.0f} minutes behind with sessions that have ended."
    yield Warning if late > 3600 else Info, text, "Look at: journalctl -u 'documents-api-*'"


@finds(
    "config.006", Tags.database, hint="Check REDIS_URL, Redis' memory, and that it is no replica."
)
def redis() -> Found:
    cache.check()
    yield Info, f"{'Each process' if settings.COUNT_IN_PROCESS else 'Redis'} counts requests.", ""


def _run(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS).stdout  # noqa: S603


@finds("config.007", Tags.database, hint="Run as root: systemctl status")
def machine() -> Found:
    """Units that have failed, and the clock."""
    if Path("/run/systemd/system").exists():
        listed = _run(
            "systemctl", "list-units", "--failed", "--plain", "--no-legend", "documents-api*"
        )
        for unit in [line.split()[0] for line in listed.splitlines()]:
            yield Error, f"{unit} has failed.", f"Look at: journalctl -u {unit}"
        clock = _run("timedatectl", "show", "--property", "NTPSynchronized", "--value").strip()
        text = f"The clock is synchronised: {clock or 'unknown'}."
        yield Warning if clock == "no" else Info, text, "Install systemd-timesyncd."


@finds("config.008", Tags.database, hint="Renew it, or look at: systemctl status nginx")
def certificate() -> Found:
    """Whether clients of nginx accept it, and when it ends."""
    if not TLS.exists():
        return
    context, name = ssl.create_default_context(), settings.ALLOWED_HOSTS[0].lstrip(".")
    renew = "Renew it; then: systemctl reload nginx"
    try:
        with (
            socket.create_connection(NGINX, SECONDS) as plain,
            context.wrap_socket(plain, server_hostname=name) as encrypted,
        ):
            ends = str((encrypted.getpeercert() or {})["notAfter"])
    except ssl.SSLCertVerificationError as exc:
        text = f"Clients do not accept the certificate of {name}: {exc.verify_message}."
        yield Error if "expired" in exc.verify_message else Warning, text, renew
    else:
        days = (ssl.cert_time_to_seconds(ends) - time.time()) // 86_400
        text = f"The certificate of {name} ends in {days:.0f} days."
        yield Warning if days < 14 else Info, text, renew
