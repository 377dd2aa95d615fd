"""run: the service on a laptop, with demo data; `make run` calls it.

It listens on the loopback interface only.
"""

import base64
import contextlib
import fcntl
import hmac
import os
import shlex
import signal
import sys
import threading
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from io import StringIO
from pathlib import Path
from typing import IO, Any

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections
from django.utils.crypto import get_random_string

from apikeys.models import ApiKey
from config.dev import data_dir
from config.dev.companions import ROOT, Companion, running
from config.management.progress import ProgressCommand
from config.management.shutdown import when_make_ends
from config.runtime import static_files
from config.runtime.ports import usable_port
from config.server.supervisor import Supervisor
from documents import demo
from events.webhooks import demo as webhooks
from workspaces.models import Membership

# Of the keys that this command issues and replaces at its next start.
KEY_NAME, RECEIVER_KEY_NAME = "make run", "receive.py"
HOST = "127.0.0.1"
READY_TIMEOUT = 30  # seconds
GRACE = 10  # seconds that downloads get after Ctrl-C


class Command(ProgressCommand):
    help = "Serves the API with its demo data on this machine, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", default=os.environ.get("PORT") or "8000")
        parser.add_argument(
            "--stop-with-parent",
            action="store_true",
            help="end when make, the parent process, ends",
        )

    def handle(self, *, port: str, stop_with_parent: bool, **options: Any) -> None:
        os.environ.setdefault("WEBHOOK_TARGETS", "any")  # a laptop has no public address
        if stop_with_parent:
            when_make_ends(os.getppid(), lambda: os.kill(os.getpid(), signal.SIGTERM))
        try:
            number = usable_port(HOST, port)
        except ValueError as exc:
            raise CommandError(f"{exc} Choose another: make run PORT=8001") from None
        base = f"http://{HOST}:{number}"
        alone = only_one(data_dir(os.environ), base)
        self.report("Preparing the database …")
        call_command("migrate", verbosity=0)
        static_files.collect()
        if demo.wanted():
            demo.load(self.report)
        verify_log()
        receiver = demo_receiver(base)
        text = welcome(base, has_receiver=receiver is not None)
        connections.close_all()
        companions = [*own_companions(), *([receiver] if receiver else [])]
        threading.Thread(target=self.announce, args=(base, text), daemon=True).start()
        with alone, running(companions):
            Supervisor(HOST, number, threads=settings.SERVER_THREADS, grace=GRACE).run()

    def announce(self, base: str, text: str) -> None:
        """Prints the text as soon as the server responds."""
        deadline = time.monotonic() + READY_TIMEOUT
        while not responds(f"{base}/api/v1/me"):
            if time.monotonic() > deadline:
                return
            time.sleep(0.05)
        self.stdout.write(text)
        self.stdout.flush()


def verify_log() -> None:
    """Verifies the audit log once, as a timer does every week elsewhere, for the page System."""
    with contextlib.suppress(CommandError):  # it is damaged
        call_command("verify_audit", stdout=StringIO())


def only_one(folder: Path, base: str) -> IO[str]:
    """A lock of the data folder: a second run would end the keys that the first one has printed.

    Raises:
        CommandError: another process holds it; the text names the address that it serves.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = (folder / "run.lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.seek(0)
        raise CommandError(
            f"make run serves {lock.read()} with the data folder {folder} already. "
            "Another one beside it: make run PORT=8001 DATA_DIR=/path/to/folder"
        ) from None
    lock.truncate(0)
    lock.write(base)
    lock.flush()
    return lock


def responds(url: str) -> bool:
    """Whether a server responds at `url`, with any status."""
    try:
        urllib.request.urlopen(url, timeout=1).close()  # noqa: S310 - our own address
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def own_companions() -> list[Companion]:
    """The service's other processes. Takes variables away that the server must not have."""
    os.environ.pop("DATABASE_OWNER_URL", None)  # it must not be able to migrate
    with_key = dict(os.environ)
    for name in ("AUDIT_SIGNING_KEY", "DATABASE_SEALER_URL"):
        os.environ.pop(name, None)  # nor to seal
    return [
        Companion(
            "seal_audit",
            ["manage.py", "seal_audit", "--follow"],
            with_key,
            "the audit log is not sealed until it runs again. "
            "Run: python manage.py seal_audit --follow",
        ),
        Companion(
            "housekeeping",
            ["manage.py", "housekeeping", "--follow"],
            dict(os.environ),
            "old rows stay until it runs again. Run: python manage.py housekeeping",
        ),
        Companion(
            "deliver_webhooks",
            ["manage.py", "deliver_webhooks"],
            dict(os.environ),
            "no webhook is sent until it runs again. "
            "Run: WEBHOOK_TARGETS=any python manage.py deliver_webhooks",
        ),
    ]


def demo_receiver(base: str) -> Companion | None:
    """The example receiver of webhooks, for the demo's workspace Acme, if there is one."""
    admin = Membership.objects.admins().filter(workspace=demo.ACME.id).first()
    found = webhooks.receiver(admin.workspace, admin.user) if admin else None
    if admin is None or found is None:
        return None
    port, secret = found
    environ = {
        "DTD_BASE_URL": base,
        "DTD_API_KEY": fresh_key(admin, RECEIVER_KEY_NAME),
        "DTD_WEBHOOK_SECRET": secret,
        "PORT": str(port),
        "PYTHONPATH": str(ROOT / "client"),
    }
    return Companion(
        "receive.py",
        ["examples/receive.py", "--to", str(received())],
        environ,
        "the demo's webhooks are not received until the next start.",
    )


def received() -> Path:
    """The folder of the PDFs that the demo's receiver saves."""
    return data_dir(os.environ) / "received"


def fresh_key(membership: Membership, name: str) -> str:
    """A new raw key for the workspace; deletes the key with this name of the last start."""
    workspace, admin = membership.workspace, membership.user
    for old in ApiKey.objects.filter(workspace=workspace).filter(name=name):
        old.delete_by(by=admin)
    return ApiKey.objects.issue(workspace=workspace, name=name, by=admin)[1]


def demo_password(user: User) -> str:
    """A demo user's password: derived from SECRET_KEY, so it is the same at each start."""
    digest = hmac.digest(settings.SECRET_KEY.encode(), f"demo:{user.username}".encode(), "sha256")
    password = base64.b32encode(digest[:10]).decode().lower()
    if not (user.has_usable_password() and check_password(password, user.password)):
        # Few iterations: 80 random bits need no slow hash, and seven of them would delay the start.
        user.password = PBKDF2PasswordHasher().encode(password, get_random_string(22), 1000)
        user.save(update_fields=["password"])
    return password


def complete_command() -> str:
    """A command for another terminal that completes a document of the demo."""
    python = Path(sys.executable)
    words = [python.relative_to(ROOT) if python.is_relative_to(ROOT) else python, "manage.py"]
    folder = data_dir(os.environ)
    return shlex.join(["env", f"DATA_DIR={folder}", *map(str, words), "complete_document"])


def welcome(base: str, *, has_receiver: bool) -> str:
    """The text that `make run` prints: keys, commands, and the logins.

    Args:
        base: the server's address.
    """
    lines = [f"\nReady: {base}"]
    admins = Membership.objects.admins().select_related("workspace", "user")
    for tenant in demo.TENANTS:
        if admin := admins.filter(workspace=tenant.id).first():
            raw = fresh_key(admin, KEY_NAME)
            lines.append(f"\nKey for {admin.workspace}: {raw}")
            if tenant == demo.ACME:
                url = f"{base}/api/v1/documents?limit=2"
                lines.append(f"  curl -H 'Authorization: Bearer {raw}' '{url}'")
    lines.append(f"\nAdmin: {base}/admin/")
    for person in demo.PEOPLE:
        if user := User.objects.filter(username=person.login).first():
            lines.append(f"  {user.username:<24}{demo_password(user):<18}{person.does}")
    if settings.SECOND_FACTOR == "nobody":
        lines.append("  They need no second factor. With one: SECOND_FACTOR=admins make run")
    if has_receiver:
        lines.append(f"\nWebhooks: examples/receive.py saves what Acme completes in {received()}")
        lines.append("Complete a document in another terminal, and watch it arrive here:")
        lines.append(f"  {complete_command()}")
    lines.append("\nStop with Ctrl-C. The data stays for the next start.\n")
    return "\n".join(lines)
