"""manage.py housekeeping: each job is done, whatever becomes of the others."""

import io
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from events.models import Event
from events.webhooks import secrets
from events.webhooks.models import Delivery
from tests.support import factories, roles
from tests.support.factories import Tenant
from tests.support.receiver import endpoint
from tests.support.usage import refused
from workspaces import counts
from workspaces.models import DocumentCount, Session


def test_housekeeping_does_each_of_its_jobs(
    transactional_db: None, acme: Tenant, settings: Any
) -> None:
    long_ago = timezone.now() - timedelta(days=33)
    with roles.as_owner():  # who may date things back
        first, raw = endpoint(acme, "https://example.com/hook")
        factories.listed(acme.workspace, 3)
        Delivery.objects.update(created_at=long_ago)
        Event.objects.update(occurred_at=long_ago)
        [row] = refused(created_at=long_ago)
        Session.objects.create(session_key="old", session_data="", expire_date=long_ago)
        DocumentCount.objects.bulk_create(
            DocumentCount(workspace_id=acme.workspace.id, status="SENT", count=change)
            for change in (3, -2) * counts.MANY
        )
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "the next key", [settings.SECRET_KEY]
    call_command("housekeeping", stderr=io.StringIO())
    for model in (Delivery, Event, Session, type(row)):
        assert not model.objects.exists()
    assert DocumentCount.objects.filter(status="SENT").count() == 1
    settings.SECRET_KEY_FALLBACKS = []
    first.refresh_from_db()
    assert secrets.decrypt(first.secret) == raw


def test_housekeeping_does_the_rest_if_a_job_fails_and_logs_it(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    statement = "SELECT pg_terminate_backend(pg_backend_pid()), %s, %s"
    monkeypatch.setattr(counts, "_FOLD", statement)
    Session.objects.create(session_key="old", session_data="", expire_date=timezone.now())
    with pytest.raises(CommandError, match="^Not done: folding the counts of /me.$") as caught:
        call_command("housekeeping", stderr=io.StringIO())
    assert caught.value.returncode == 1
    assert "Failed: folding the counts of /me" in caplog.text
    assert "terminating connection" in caplog.text
    assert not Session.objects.exists()
