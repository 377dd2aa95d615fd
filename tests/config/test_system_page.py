"""The page System: for operators, the findings of the system checks, problems first."""

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

from audit.checks import backup_and_verification
from audit.models import Action, AuditEntry
from config.checks import housekeeping, transactions
from config.console.system import findings
from tests.support import staff
from tests.support.database import backdated, url_of
from tests.support.factories import Tenant
from tests.support.server import eventually
from tests.support.staff import body
from workspaces.models import Session

PAGE = reverse("system")
INDEX = reverse("admin:index")


def found(check: Any) -> list[tuple[str, str]]:
    return [(each.id, each.msg) for each in check(databases=["default"])]


def test_system_page_is_for_operators_alone(acme: Tenant) -> None:
    assert Client().get(PAGE).status_code == 302
    for user in (acme.admin, staff.support()):
        client = staff.signed_in(user)
        assert client.get(PAGE).status_code == 403
        assert PAGE not in body(client.get(INDEX))


def test_system_page_has_the_findings_of_the_checks_problems_first(desk: Client) -> None:
    html = body(desk.get(PAGE))
    problem, fact = html.index("Backup made, last: never."), html.index("with PostgreSQL 1")
    assert html.index("(audit.W003)") < html.index("<details") < fact
    assert problem < fact
    assert " counts requests." in html
    assert f'<a href="{PAGE}">System</a>: Backup made' in body(desk.get(INDEX))


def test_hints_of_make_run_name_no_command_of_a_server(db: None, settings: Any) -> None:
    settings.MAILBOX = True
    hints = [each.hint for each in findings()]
    assert not [each for each in hints if "systemctl" in (each or "") or "deploy/" in (each or "")]


def test_backup_of_yesterday_is_known(db: None) -> None:
    call_command("record_backup", "12 bytes of database,\n3 files", stdout=StringIO())
    [(id, text)] = [each for each in found(backup_and_verification) if "Backup" in each[1]]
    assert (id, text.rpartition(": ")[2]) == ("audit.I003", "12 bytes of database, 3 files")


def test_old_backup_is_a_warning(db: None) -> None:
    backdated([AuditEntry(action=Action.BACKUP_MADE, created_at=timezone.now() - timedelta(2))])
    assert "audit.W003" in dict(found(backup_and_verification))


def test_housekeeping_that_does_not_run_is_a_warning(db: None) -> None:
    def session(hours: int) -> None:
        ended = timezone.now() - timedelta(hours=hours)
        Session.objects.create(session_key=str(hours), session_data="", expire_date=ended)

    session(0)
    assert "config.I005" in dict(found(housekeeping))
    session(2)
    assert "config.W005" in dict(found(housekeeping))


@pytest.mark.usefixtures("transactional_db")
def test_session_that_has_locked_a_table_is_named(desk: Client) -> None:
    with psycopg.connect(url_of(settings.DATABASES["default"]["NAME"])) as other:
        other.execute("SET application_name = 'a careless script'")
        other.execute("LOCK TABLE documents_document")
        said = f"pid {other.info.backend_pid} (documents_owner, a careless script; idle in "
        assert eventually(lambda: said in str(found(transactions)))
        assert "it has locked documents_document, 0 wait for it" in str(found(transactions))
        assert f"pg_terminate_backend({other.info.backend_pid})" in body(desk.get(INDEX))
    assert "config.E004" not in dict(found(transactions))
