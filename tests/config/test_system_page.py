"""The page System: an operator's view of the installation, each part of which may fail alone."""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from io import StringIO
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from audit.models import Action, AuditEntry
from config.console import system
from config.runtime.postgresql import sessions
from tests.support import seals, staff
from tests.support.database import backdated, url_of
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.staff import body
from tests.support.usage import refused

PAGE = reverse("system")
INDEX = reverse("admin:index")


def facts(title: str) -> dict[str, tuple[str, str]]:
    """The facts of a part: label → value and state."""
    [found] = [part.facts() for part in system.parts() if part.title == title]
    return {fact.label: (fact.value, fact.state) for fact in found}


def test_system_page_is_for_operators_alone(acme: Tenant) -> None:
    assert Client().get(PAGE).status_code == 302
    for user in (acme.admin, staff.support()):
        client = staff.signed_in(user)
        assert client.get(PAGE).status_code == 403
        assert PAGE not in body(client.get(INDEX))


def test_system_page_shows_versions_migrations_and_each_part(desk: Client) -> None:
    html = body(desk.get(PAGE))
    for text in ("PostgreSQL", "Django", "Pending", "Object storage", "Counter", "Sealed entries"):
        assert f"<dt>{text}</dt>" in html
    for text in ("Last backup", "Started"):
        assert f"<dt>{text}</dt>" in html
    assert facts("Migrations")["Pending"] == ("none", "ok")
    checks = facts("What this process needs")
    assert set(checks) >= {"Database", "Object storage", "Counter"}
    assert {state for _, state in checks.values()} <= {"ok", "bad"}
    assert checks["Database"][0].endswith(" ms")
    assert f'href="{PAGE}"' in body(desk.get(INDEX))


def test_system_page_of_make_run_names_no_command_of_a_server(db: None, settings: Any) -> None:
    def commands() -> list[str]:
        remedies = [fact.remedy for part in system.parts() for fact in part.facts()]
        return [
            each for each in remedies if re.search(r"systemctl|journalctl|deploy/\w+\b(?!\.)", each)
        ]

    assert len(commands()) >= 5
    settings.MAILBOX = True
    assert commands() == []


def test_system_page_shows_the_other_parts_if_one_cannot_be_read(
    desk: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> list[system.Fact]:
        raise TimeoutError

    monkeypatch.setattr(system, "_parts", [system.Part("Moon", fail, True), *system._parts])
    html = body(desk.get(PAGE))
    assert "cannot be read" in html
    assert "<dt>PostgreSQL</dt>" in html
    assert "Moon" in body(desk.get(INDEX))


def test_system_page_knows_the_age_of_the_last_backup(desk: Client) -> None:
    assert facts("Backup")["Last backup"][1] == "warn"
    call_command("record_backup", "12 bytes of database,\n3 files", stdout=StringIO())
    entry = AuditEntry.objects.get()
    assert (entry.action, entry.detail) == (
        Action.BACKUP_MADE,
        "12 bytes of database, 3 files",
    )
    assert facts("Backup")["Last backup"][1] == "ok"
    assert facts("Backup")["It has"] == ("12 bytes of database, 3 files", "")


def test_system_page_warns_if_the_last_backup_is_old(desk: Client) -> None:
    backdated([AuditEntry(action=Action.BACKUP_MADE, created_at=timezone.now() - timedelta(2))])
    value, state = facts("Backup")["Last backup"]
    assert state == "warn"
    assert "2\xa0days ago" in value
    assert "2\xa0days ago" in body(desk.get(INDEX))


def test_system_page_says_if_the_log_was_found_damaged(desk: Client) -> None:
    assert facts("Audit log")["Last verification"][1] == "warn"
    backdated([AuditEntry(action=Action.LOG_DAMAGED, created_at=timezone.now())])
    assert facts("Audit log")["The log was found"] == ("damaged", "bad")
    assert facts("Audit log")["Last verification"][1] == "ok"


def test_system_page_says_whether_somebody_else_wrote_checkpoints(
    transactional_db: None, settings: Any
) -> None:
    label = "Signatures of checkpoints"
    settings.AUDIT_PUBLIC_KEYS = []
    assert facts("Audit log")[label][0].startswith("not checked: AUDIT_PUBLIC_KEYS is not set")
    settings.AUDIT_PUBLIC_KEYS = [str(seals.KEY.public)]
    assert facts("Audit log")[label] == ("valid", "ok")
    seals.as_owner("INSERT INTO audit_checkpoint VALUES (7, now(), 'x', 7, 7, 0)")
    assert facts("Audit log")[label][1] == "bad"


def test_system_page_counts_503s_by_their_reason(db: None) -> None:
    title = "503 in the last 24 hours"
    assert facts(title) == {"For any reason": ("none", "ok")}
    refused(status=503, reason="The database is out of reach", more=11)
    refused(2, status=503, reason="No slot")
    refused(status=404)
    refused(status=503, reason="Long ago", created_at=timezone.now() - timedelta(days=2))
    assert facts(title) == {
        "The database is out of reach": ("12", "warn"),
        "No slot": ("2", "warn"),
    }


@pytest.mark.usefixtures("transactional_db")
def test_system_page_names_the_session_that_has_locked_a_table(desk: Client) -> None:
    with psycopg.connect(url_of(settings.DATABASES["default"]["NAME"])) as other:
        other.execute("SET application_name = 'a careless script'")
        other.execute("LOCK TABLE documents_document")
        time.sleep(sessions.BLOCKED_SECONDS)
        html = body(desk.get(PAGE))
        assert "<dt>Locked: documents_document</dt>" in html
        assert f"pid {other.info.backend_pid} (documents_owner, a careless script) for " in html
        assert f"pg_terminate_backend({other.info.backend_pid})" in html
        assert "Locked: documents_document" in body(desk.get(INDEX))
    assert facts("Locks and transactions") == {
        "Locked tables": ("none", "ok"),
        "Long transactions": ("none", "ok"),
    }


@pytest.mark.usefixtures("transactional_db")
def test_system_page_names_who_holds_a_row_that_others_wait_for(acme: Tenant) -> None:
    url = url_of(settings.DATABASES["default"]["NAME"])
    change = "UPDATE workspaces_workspace SET name = 'A secret'"
    with (
        psycopg.connect(url) as holder,
        psycopg.connect(url) as waiter,
        ThreadPoolExecutor() as pool,
    ):
        holder.execute(change.encode())
        waits = pool.submit(waiter.execute, change.encode())
        try:
            assert eventually(
                lambda: "Locked: workspaces_workspace" in facts("Locks and transactions")
            )
            text, state = facts("Locks and transactions")["Locked: workspaces_workspace"]
        finally:
            holder.rollback()
            waits.result()
    assert state == "bad"
    assert re.match(r"pid \d+ \(documents_owner\) for \d+ s, idle in transaction; ", text)
    assert text.endswith("1 wait for it: UPDATE workspaces_workspace SET name =")
