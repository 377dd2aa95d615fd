"""E-mails about a workspace: to its admins who want them, and to nobody else."""

import signal
import socketserver
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core import mail
from django.core.management import call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django_otp.plugins.otp_totp.models import TOTPDevice

from apikeys.mails import notify_of_keys
from apikeys.models import ApiKey
from audit.models import Action
from config import connections
from config.checks import HOUSEKEEPING
from config.management.commands.housekeeping import IS_SEEN
from events.webhooks import services
from events.webhooks.models import Endpoint
from tests.support import staff, webhooks
from tests.support.factories import Tenant
from tests.support.mails import arrived, sent
from tests.support.receiver import delivering
from tests.support.server import eventually
from tests.support.staff import SECURITY, body
from tests.support.usage import refused
from workspaces import changes, mails
from workspaces.accounts import recovery_codes, rights, second_factor
from workspaces.checks import emails
from workspaces.models import Mail, NoMails

BASE = "https://api.acme.example"
LINK = "/admin/reset/MQ/secret-token/"
ADA, BOB, OLGA = "admin@acme.example", "bob@acme.example", "olga@operators.example"


@pytest.fixture(autouse=True)
def bob(acme: Tenant, umbrella: Tenant, settings: Any) -> User:
    """Ada and Bob are Acme's admins; others must get nothing of it; there is a mail server."""
    settings.EMAIL_HOST, settings.BASE_URL = "mail.example", BASE
    staff.member(acme.workspace, "member@acme.example")
    for login, email in (("robert", BOB.capitalize()), ("none", "")):
        staff.member(acme.workspace, login, "ADMIN")  # Bob's other account, one without an address
        User.objects.filter(username=login).update(email=email)
    gone = staff.member(acme.workspace, "gone@acme.example", "ADMIN")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    staff.support()
    staff.operator()
    bob: User = staff.member(acme.workspace, BOB, "ADMIN")
    arrived()
    return bob


def send(subject: str) -> None:
    facts = {"path": LINK, "base_url": BASE}
    mails.send([ADA], subject, "registration/password_reset_email.txt", facts)


def found() -> str:
    [said] = emails(databases=["default"])
    return f"{said.id} {said.msg}".replace("\N{NO-BREAK SPACE}", " ")


def to_both(subject: str) -> list[tuple[str, str]]:
    return [(ADA, subject), (BOB, subject)]


def test_admins_are_told_of_suspension_and_plan(acme: Tenant) -> None:
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    assert Mail.objects.count() == 2
    assert arrived() == to_both("Workspace suspended: Acme")
    assert "Unpaid" in mail.outbox[0].body
    assert f"By: {OLGA}" in mail.outbox[0].body
    path = reverse("admin:workspaces_workspace_change", args=[acme.workspace.pk])
    assert f"{BASE}{path}" in mail.outbox[0].body
    changes.set_suspended(acme.workspace, False, by=OLGA, reason="Paid")
    assert arrived() == to_both("Workspace reinstated: Acme")
    changes.change_plan(acme.workspace, "FREE", by=OLGA, reason="Asked for it")
    assert arrived() == to_both("Plan changed: Acme")
    assert arrived() == []


def test_admins_are_told_of_a_webhook_that_the_service_has_switched_off(
    acme: Tenant, bob: User
) -> None:
    services.switch_off(webhooks.endpoint(acme), by=bob)
    assert arrived() == []
    services.switch_off(webhooks.endpoint(acme), reason="it responded with 410 Gone")
    assert arrived() == to_both("Webhook switched off: Acme")
    assert "410 Gone" in mail.outbox[0].body
    assert "letmein" not in mail.outbox[0].body


def notify() -> None:
    services.notify_of_failing()
    notify_of_keys()


def webhook_fails(acme: Tenant) -> str:
    webhooks.endpoint(acme)
    fails = Endpoint.objects.filter(workspace=acme.workspace)
    fails.update(failing_since=timezone.now() - timedelta(minutes=50))
    notify()
    fails.update(failing_since=timezone.now() - timedelta(minutes=70))
    return "A webhook fails: Acme"


def key_expires(acme: Tenant) -> str:
    keys = ApiKey.objects.filter(pk=acme.key.pk)
    keys.update(expires_at=timezone.now() + timedelta(days=15))
    notify()
    keys.update(expires_at=timezone.now() + timedelta(days=13))
    return f"A key expires soon: {acme.key}"


def ended_key_is_used(acme: Tenant) -> str:
    facts: dict[str, Any] = {"status": 401, "address": "192.0.2.7"}
    refused(3, key_id=acme.key.pk, workspace_id=acme.workspace.pk, **facts)
    notify()  # it works
    acme.key.revoke(by=acme.admin)
    return f"A key that has ended is used: {acme.key}"


def test_key_that_was_rolled_ends_without_an_email(acme: Tenant) -> None:
    acme.key.roll(by=acme.admin, ends_in=timedelta(days=1))
    notify()
    assert arrived() == []


@pytest.mark.parametrize("happen", [webhook_fails, key_expires, ended_key_is_used])
def test_what_housekeeping_finds_is_told_once_within_30_days(acme: Tenant, happen: Any) -> None:
    subject = happen(acme)
    assert arrived() == []
    for _ in range(2):
        notify()
        mails.purge()
    assert arrived() == to_both(subject)
    assert f"{BASE}/admin/" in mail.outbox[0].body
    assert not any(secret in mail.outbox[0].body for secret in (acme.raw, "letmein"))
    notify()
    assert arrived() == []
    Mail.objects.update(created_at=timezone.now() - timedelta(days=31))
    mails.purge()
    notify()
    assert arrived() == to_both(subject)


def test_checkbox_ends_emails_about_workspaces_and_is_recorded(acme: Tenant) -> None:
    ada = staff.signed_in(acme.admin)
    assert 'name="wanted" checked>' in body(ada.get(SECURITY))
    for form, expected in (({}, [BOB]), ({"wanted": "on"}, [ADA, BOB])):
        ada.post(SECURITY, {"do": "mails", **form})
        assert (" checked> E-mail me about" in body(ada.get(SECURITY))) == bool(form)
        services.switch_off(webhooks.endpoint(acme), reason="410")
        assert [to for to, _ in arrived()] == expected
    about_ada = [entry[3] for entry in staff.told() if entry[1:3] == (ADA, ADA)]
    assert about_ada == ["e-mails about workspaces: no", "e-mails about workspaces: yes"]


# --- About accounts, whether their users want e-mails about workspaces or not


def make_operator(ada: User) -> None:
    TOTPDevice.objects.create(user=ada, name="app")
    rights.change(ada, "operator", True, by=OLGA, reason="She joins the team")


def make_operator_by_a_command(ada: User) -> None:
    ada.is_superuser = True
    ada.save()


def remove_the_second_factor(ada: User) -> None:
    TOTPDevice.objects.create(user=ada, name="app")
    second_factor.remove(ada, by=OLGA)


def use_a_recovery_code(ada: User) -> None:
    [code, *_] = recovery_codes.make(ada)
    second_factor.verify(ada, code, refused=Action.LOGIN_FAILED)


NOTICES = [
    (make_operator, [ADA, OLGA], "Made an operator", "Reason: She joins the team"),
    (make_operator_by_a_command, [ADA, OLGA], "Made an operator", "By: "),
    (lambda ada: staff.give_password(ada, "another one"), [ADA], "Password changed", "By: "),
    (remove_the_second_factor, [ADA], "Second factor removed", f"By: {OLGA}"),
    (use_a_recovery_code, [ADA], "Recovery code used", "Codes left: 9"),
]


@pytest.mark.parametrize(("act", "to", "what", "text"), NOTICES)
def test_users_are_told_what_changes_the_security_of_their_account(
    acme: Tenant, act: Any, to: list[str], what: str, text: str
) -> None:
    NoMails.objects.create(user=acme.admin)
    act(acme.admin)
    assert arrived() == [(each, f"{what}: {ADA}") for each in to]
    for message in mail.outbox:
        assert f"{what}: {ADA} at {BASE}\n" in message.body
        assert f"\n{text}" in message.body


def test_without_a_mail_server_nothing_waits_or_is_promised(acme: Tenant, settings: Any) -> None:
    url = reverse("admin:auth_user_make_support", args=[acme.admin.pk])
    desk = staff.signed_in(User.objects.get(username=OLGA))
    TOTPDevice.objects.create(user=acme.admin, name="app")
    for settings.EMAIL_HOST in ("mail.example", ""):
        promised = "Other operators get an e-mail" in body(desk.get(url))
        assert promised == bool(settings.EMAIL_HOST)
    send("Hello")
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    assert not Mail.objects.exists()
    assert 'name="wanted"' not in body(staff.signed_in(acme.admin).get(SECURITY))


def test_mailbox_of_make_run_shows_what_would_be_sent(acme: Tenant, settings: Any) -> None:
    settings.HTTPS_ONLY = False
    box = reverse("admin:mailbox")
    assert Client().get(box).status_code == 404
    settings.ON_LAPTOP = True
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Unpaid")
    assert arrived() == []
    assert "Workspace suspended: Acme" in body(Client().get(box))
    settings.HTTPS_ONLY = True
    assert Client().get(box).status_code == 404


# --- The queue


class MailServer(socketserver.ThreadingTCPServer):
    """A mail server that keeps what it gets."""

    daemon_threads = True
    received: list[str]


class MailSession(socketserver.StreamRequestHandler):
    """One session of SMTP (RFC 5321), as far as a client without extensions needs it."""

    server: MailServer
    seconds = 0.0  # until it replies

    def handle(self) -> None:
        self.say("220 mail.example")
        for line in self.rfile:
            command = line.decode().strip().upper()
            if command == "DATA":
                self.say("354 go on")
                lines = iter(self.rfile.readline, b".\r\n")
                self.server.received.append(b"".join(lines).decode())
            self.say("221 bye" if command == "QUIT" else "250 ok")
            if command == "QUIT":
                return

    def say(self, reply: str) -> None:
        time.sleep(self.seconds)
        self.wfile.write(f"{reply}\r\n".encode())


@pytest.fixture
def smtp(settings: Any) -> Iterator[MailServer]:
    """The service uses this mail server."""
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    with MailServer(("127.0.0.1", 0), MailSession) as server:
        server.received = []
        settings.EMAIL_HOST, settings.EMAIL_PORT = server.server_address[:2]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_email_arrives_at_the_mail_server_without_webhooks_and_nothing_of_it_is_kept(
    smtp: MailServer, tmp_path: Path
) -> None:
    send("Set a\nnew password")
    log, (host, port) = tmp_path / "log", smtp.server_address[:2]
    with delivering(log, "housekeeping --follow", EMAIL_URL=f"smtp://{host!s}:{port}"):
        assert eventually(lambda: smtp.received), log.read_text()
        assert eventually(lambda: not Mail.objects.exists())
    [message] = smtp.received
    assert "Subject: Set a new password\r\n" in message
    assert f"To: {ADA}\r\n" in message
    assert BASE + LINK in message


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_housekeeping_is_seen_while_an_email_takes_long_and_not_while_it_hangs(
    smtp: MailServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MailSession, "seconds", 8.0)  # for each of four replies
    monkeypatch.setattr(connections, "HUNG_SECONDS", IS_SEEN + 3)
    send("Set a new password")
    host, port = smtp.server_address[:2]
    url = f"smtp://{host!s}:{port}"
    with delivering(tmp_path / "log", "housekeeping --follow", EMAIL_URL=url) as process:
        assert eventually(lambda: connections.processes(HOUSEKEEPING))
        end = time.monotonic() + 20
        while time.monotonic() < end:
            assert connections.processes(HOUSEKEEPING)
            time.sleep(0.5)
        assert smtp.received == []
        process.send_signal(signal.SIGSTOP)
        assert eventually(lambda: not connections.processes(HOUSEKEEPING))
        process.send_signal(signal.SIGCONT)


def test_email_is_tried_for_a_day_and_by_another_process_if_the_first_is_killed(
    smtp: MailServer, settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    port, settings.EMAIL_PORT = settings.EMAIL_PORT, 9  # nobody is there
    send("Set a new password")
    sent()  # as if its process had been killed: the attempt has no result
    assert "An e-mail was not sent: ConnectionRefusedError" in caplog.text
    assert "secret-token" not in caplog.text
    assert found() == "workspaces.I001 1 to be sent; the oldest has waited for 0 minutes."
    Mail.objects.update(created_at=timezone.now() - timedelta(minutes=12))
    assert found() == "workspaces.W001 1 to be sent; the oldest has waited for 12 minutes."
    settings.EMAIL_PORT = port
    sent()
    assert smtp.received == []  # somebody may still be sending it
    Mail.objects.update(due_at=timezone.now())
    mails.purge()
    sent()
    assert len(smtp.received) == 1
    assert found() == "workspaces.I001 None waits to be sent."
    send("Set a new password")
    Mail.objects.update(created_at=timezone.now() - timedelta(hours=25))
    mails.purge()
    assert not Mail.objects.exists()


def test_emails_to_a_silent_mail_server_end(db: None, settings: Any) -> None:
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_TIMEOUT = 0.5
    with socketserver.TCPServer(("127.0.0.1", 0), MailSession) as silent:  # it answers nobody
        settings.EMAIL_HOST, settings.EMAIL_PORT = silent.server_address[:2]
        for subject in ("One", "Two"):
            send(subject)
        call_command("housekeeping", stderr=StringIO())
        due = Mail.objects.filter(due_at__lte=timezone.now())
        assert due.count() == 2  # no job waits for the mail server
        for left in (1, 0):
            assert not mails.deliver()  # the thread pauses, whatever else is due
            assert due.count() == left
        assert Mail.objects.exclude(text="").count() == 2  # they wait for the next attempt
