"""E-mails outlive the process that sends them."""

import signal
import socketserver
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from audit.models import Action
from audit.record import record
from tests.support.factories import Tenant
from tests.support.receiver import start_delivering, stop_delivering
from tests.support.server import eventually
from workspaces.mails.models import Mail

pytestmark = pytest.mark.django_db(transaction=True)


class Session(socketserver.StreamRequestHandler):
    """SMTP; it does not respond to an e-mail while the server holds it."""

    def handle(self) -> None:
        server: Any = self.server
        self.wfile.write(b"220 mail.example\r\n")
        for line in self.rfile:
            reply = b"250 ok\r\n"
            if line.strip().upper() == b"DATA":
                self.wfile.write(b"354 go on\r\n")
                server.begun += 1
                text = b"".join(iter(self.rfile.readline, b".\r\n"))
                if server.holds:
                    server.released.wait()
                    return
                server.received.append(text.decode())
            elif line.strip().upper() == b"QUIT":
                reply = b"221 bye\r\n"
            self.wfile.write(reply)


@pytest.fixture
def smtp() -> Iterator[Any]:
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Session) as server:
        server.daemon_threads = True
        vars(server).update(begun=0, holds=True, received=[], released=threading.Event())
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_process_that_is_killed_loses_no_email_and_sends_one_twice_at_most(
    acme: Tenant, smtp: Any, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    environment = {
        "EMAIL_URL": f"smtp://127.0.0.1:{smtp.server_address[1]}",
        "BASE_URL": "https://api.acme.example",
    }
    facts: Any = {"by": "olga", "workspace": acme.workspace.snapshot(), "detail": "Unpaid"}
    record(Action.WORKSPACE_SUSPENDED, **facts)
    process = start_delivering(log, **environment)
    assert eventually(lambda: smtp.begun), log.read_text()
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    assert Mail.objects.get().error == ""  # it was being sent
    smtp.holds = False
    smtp.released.set()
    Mail.objects.update(due_at=timezone.now())  # the lease of the killed one has ended
    process = start_delivering(log, **environment)
    assert eventually(lambda: smtp.received), log.read_text()
    assert eventually(lambda: not Mail.objects.exists()), log.read_text()
    assert stop_delivering(process) == 0, log.read_text()
    [message] = smtp.received
    assert "Subject: Workspace suspended: Acme" in message
    assert "List-Unsubscribe-Post: List-Unsubscribe=One-Click" in message
    assert "https://api.acme.example/admin/mails/off/?token=" in message.replace("=\r\n", "")
