"""E-mails: each kind arrives at whom it should and at nobody else, as each has chosen."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.usage.mails import notify_of_keys
from audit.models import Action
from audit.record import record
from audit.snapshots import DocumentSnapshot
from events.webhooks import monitoring, services
from events.webhooks.models import Endpoint
from tests.support import factories, staff, webhooks
from tests.support.factories import Tenant
from tests.support.mails import arrived, sent
from tests.support.staff import body
from tests.support.usage import refused
from workspaces import changes
from workspaces.mails import kinds, queue
from workspaces.mails.models import Mail
from workspaces.models import Membership

BASE = "https://api.acme.example"
SECURITY = reverse("admin:security")
ADA, BOB, UMA, OLGA = (
    "admin@acme.example",
    "bob@acme.example",
    "admin@umbrella.example",
    "olga@operators.example",
)


@pytest.fixture(autouse=True)
def everybody(acme: Tenant, umbrella: Tenant, settings: Any) -> dict[str, User]:
    """Ada and Bob are Acme's admins; others must get nothing of it; there is a mail server."""
    settings.EMAIL_HOST, settings.BASE_URL = "mail.example", BASE
    bob = staff.member(acme.workspace, BOB, "ADMIN")
    staff.member(acme.workspace, "member@acme.example")
    gone = staff.member(acme.workspace, "gone@acme.example", "ADMIN")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    staff.support()
    people = {ADA: acme.admin, BOB: bob, UMA: umbrella.admin, OLGA: staff.operator()}
    arrived()
    return people


def choose(user: User, **modes: str) -> Any:
    return staff.signed_in(user).post(SECURITY, {"do": "mails", **modes})


def now_daily() -> None:
    """The daily e-mails become due."""
    Mail.objects.filter(daily=True).update(due_at=timezone.now())


# --- Kinds


def test_suspension_and_plan_are_told_to_the_admins_of_the_workspace(acme: Tenant) -> None:
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    assert arrived() == [(ADA, "Workspace suspended: Acme"), (BOB, "Workspace suspended: Acme")]
    assert "Detail: Unpaid" in mail.outbox[0].body
    assert f"By: {OLGA}" in mail.outbox[0].body
    changes.set_suspended(acme.workspace, False, by=OLGA, reason="Paid")
    changes.change_plan(acme.workspace, "FREE", by=OLGA, reason="Asked for it")
    assert arrived() == [
        (who, f"{what}: Acme")
        for who in (ADA, BOB)
        for what in ("Plan changed", "Workspace reinstated")
    ]
    assert arrived() == []  # nothing twice


def test_nobody_gets_an_email_about_what_they_did_themselves(
    acme: Tenant, everybody: dict[str, User]
) -> None:
    hook = webhooks.endpoint(acme)
    services.switch_off(hook, by=everybody[BOB])
    assert arrived() == [(ADA, "Webhook switched off: Acme")]


def test_webhook_that_fails_for_an_hour_is_told_once(acme: Tenant) -> None:
    hook = webhooks.endpoint(acme)
    fails = Endpoint.objects.filter(pk=hook.pk)
    fails.update(failing_since=timezone.now() - timedelta(minutes=50))
    monitoring.notify_of_failing()
    assert arrived() == []
    fails.update(failing_since=timezone.now() - timedelta(minutes=70))
    for _ in range(2):
        monitoring.notify_of_failing()
    assert arrived() == [(ADA, "A webhook fails: Acme"), (BOB, "A webhook fails: Acme")]
    assert webhooks.PUBLIC_URL in mail.outbox[0].body
    assert "letmein" not in mail.outbox[0].body


def test_new_admin_is_told_and_a_member_is_not(acme: Tenant) -> None:
    eve = factories.user("eve@acme.example", is_staff=True)
    membership = Membership(workspace=acme.workspace, user=eve, role="MEMBER")
    changes.add_member(membership, by=ADA)
    assert arrived() == []
    changes.make_admin(membership, by=ADA)
    assert arrived() == [(who, "Member's role changed: Acme") for who in (BOB, eve.username)]


def test_new_operator_is_told_to_the_other_operators(everybody: dict[str, User]) -> None:
    factories.user("oscar@operators.example", is_staff=True, is_superuser=True)
    record(Action.OPERATOR_MADE, by=OLGA, member=BOB, detail="She joins")
    assert arrived() == [("oscar@operators.example", f"Made an operator: {BOB}")]


def test_exports_are_told_once_a_day_in_one_email(acme: Tenant, everybody: dict[str, User]) -> None:
    document = DocumentSnapshot(document_id=factories.uid(1), document_title="Lease")
    facts: Any = {"by": ADA, "workspace": acme.workspace.snapshot()}
    record(Action.EVIDENCE_EXPORTED, **facts, document=document, detail="7 entries")
    record(Action.LOG_EXPORTED, **facts, detail="all")
    record(Action.LOG_EXPORTED, by="sam@support.example", detail="all workspaces")
    assert arrived() == []
    assert {each.due_at.hour for each in Mail.objects.all()} == {6}
    now_daily()
    assert arrived() == [
        (BOB, "2 messages of the last day"),
        (OLGA, "Audit log exported: all workspaces"),
    ]
    [to_bob] = [each for each in mail.outbox if each.to == [BOB]]
    assert "Document: Lease" in to_bob.body
    assert "Audit log exported: Acme" in to_bob.body
    assert not Mail.objects.exists()


def test_key_that_expires_soon_is_told_once(acme: Tenant) -> None:
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=timezone.now() + timedelta(days=15))
    notify_of_keys()
    assert arrived() == []
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=timezone.now() + timedelta(days=13))
    for _ in range(2):
        notify_of_keys()
    subject = f"A key expires soon: {acme.key.name}"
    assert arrived() == [(ADA, subject), (BOB, subject)]
    assert acme.raw not in mail.outbox[0].body
    assert f"{BASE}/admin/apikeys/apikey/{acme.key.pk}/change/" in mail.outbox[0].body


def test_revoked_key_that_is_still_used_is_told_once(acme: Tenant, umbrella: Tenant) -> None:
    known: dict[str, Any] = {"status": 401, "cause": "invalid_key", "address": "192.0.2.7"}
    refused(3, key_id=acme.key.pk, workspace_id=acme.workspace.pk, **known)
    refused(1, key_id=umbrella.key.pk, workspace_id=umbrella.workspace.pk, status=429, cause="x")
    notify_of_keys()
    assert arrived() == []  # it works
    acme.key.revoke(by=acme.admin)
    for _ in range(2):
        notify_of_keys()
    subject = f"A key that has ended is used: {acme.key.name}"
    assert arrived() == [(ADA, subject), (BOB, subject)]
    assert "Detail: Revoked" in mail.outbox[0].body


def test_what_happened_long_ago_is_not_told(acme: Tenant) -> None:
    old = timezone.now() - timedelta(days=2)
    fields = {"action": Action.WORKSPACE_SUSPENDED, "person": OLGA, "detail": "Unpaid"}
    staff.happened(1, **fields, **staff.of(acme.workspace), created_at=old)
    assert arrived() == []


def test_without_a_mail_server_nothing_waits(db: None, settings: Any) -> None:
    settings.EMAIL_HOST = ""
    queue.send("Hello", "registration/new_browser_email.txt", {}, ADA)
    assert not Mail.objects.exists()


# --- Choices


def test_choices_on_the_page_security(acme: Tenant, everybody: dict[str, User]) -> None:
    ada = staff.signed_in(acme.admin)
    html = body(ada.get(SECURITY))
    assert "A key expires within 14 days" in html
    assert "operator or support" not in html
    choose(acme.admin, workspace="off", webhook="daily", export="sometimes", operator="off")
    found = {slug: mode for slug, _, mode in kinds.choices_of(acme.admin)}
    assert (found["workspace"], found["webhook"], found["export"]) == ("off", "daily", "daily")
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    assert arrived() == [(BOB, "Workspace suspended: Acme")]


def test_operators_choose_their_kinds_and_others_none(everybody: dict[str, User]) -> None:
    assert [slug for slug, *_ in kinds.choices_of(everybody[OLGA])] == ["export", "operator"]
    html = body(staff.signed_in(User.objects.get(username="sam@support.example")).get(SECURITY))
    assert 'id="mails"' not in html


def test_what_waits_for_a_day_is_not_sent_once_it_is_off(acme: Tenant) -> None:
    record(Action.LOG_EXPORTED, by="x", workspace=acme.workspace.snapshot(), detail="all")
    arrived()
    choose(acme.admin, export="off")
    now_daily()
    assert [to for to, _ in arrived()] == [BOB]


# --- The link that ends a kind


def test_link_ends_its_kind_without_signing_in(acme: Tenant, everybody: dict[str, User]) -> None:
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    [message] = [each for each in sent() if each.to == [ADA]]
    assert message.extra_headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    [url] = re.findall(r"<(.+)>", message.extra_headers["List-Unsubscribe"])
    assert url in message.body
    assert url in message.alternatives[0][0]
    path = url.removeprefix(BASE)
    anybody = Client(enforce_csrf_checks=True)
    assert "Suspension and plan of a workspace" in body(anybody.get(path))
    changes.set_suspended(acme.workspace, False, by=OLGA, reason="Paid")
    assert len(arrived()) == 2  # to open it ends nothing
    assert "You get no more" in body(anybody.post(path, {"List-Unsubscribe": "One-Click"}))
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    services.switch_off(webhooks.endpoint(acme), reason="410")
    assert arrived() == [
        (ADA, "Webhook switched off: Acme"),
        (BOB, "Webhook switched off: Acme"),
        (BOB, "Workspace suspended: Acme"),
    ]


def test_forged_link_ends_nothing(acme: Tenant) -> None:
    for token in ("", "x", "WzEsIndvcmtzcGFjZSJd:1uX:forged", "%00"):
        path = f"{reverse('admin:mails_off')}?token={token}"
        for response in (Client().get(path), Client().post(path)):
            assert response.status_code == 200
            assert "This is not the link of an e-mail" in body(response)
    assert {mode for _, _, mode in kinds.choices_of(acme.admin)} == {"now", "daily"}


# --- For operators


def test_oldest_email_that_waits_is_a_metric(db: None) -> None:
    queue.send("Hello", "registration/new_browser_email.txt", {}, ADA)
    Mail.objects.update(planned_at=timezone.now() - timedelta(minutes=20))
    [metric] = [
        each
        for each in monitoring.read_metrics(connection)
        if each.name == "documents_mails_overdue_seconds"
    ]
    assert 1200 <= metric.samples[0].value < 1260


# --- The mailbox of `make run`


def test_mailbox_shows_what_would_be_sent(acme: Tenant, settings: Any) -> None:
    settings.HTTPS_ONLY = False
    box = reverse("admin:mailbox")
    assert Client().get(box).status_code == 404
    settings.MAILBOX = True
    assert "None yet" in body(Client().get(box))
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid — “again”")
    kinds.notify_of_log()
    html = body(Client().get(box))
    assert "Workspace suspended: Acme" in html
    assert "Unpaid — “again”" in html
    assert f'href="{BASE}/admin/audit/auditentry/' in html
    settings.HTTPS_ONLY = True
    assert Client().get(box).status_code == 404
