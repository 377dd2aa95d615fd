"""run: the service on a laptop, with demo data; `make run` calls it.

It listens on the loopback interface only.
"""

import base64
import contextlib
import fcntl
import hmac
import itertools
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
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import OperationalError, connection, connections
from django.urls import reverse
from django.utils.crypto import get_random_string

from apikeys import keys
from apikeys.models import AlreadyIssued, ApiKey
from config import env
from config.dev import data_dir
from config.dev.companions import ROOT, Companion, running
from config.dev.service import write_private
from config.management.progress import ProgressCommand, first_line
from config.management.shutdown import Stopped, graceful_shutdown, when_make_ends
from config.runtime import static_files
from config.runtime.key_format import PREFIX
from config.runtime.ports import free_port, usable_port
from config.runtime.postgresql.roles import as_owner
from documents import demo
from events.webhooks import demo as webhooks
from workspaces.models import Membership

# Of the keys that this command issues.
KEY_NAME, RECEIVER_KEY_NAME = "make run", "receive.py"
HOST = "127.0.0.1"
READY_TIMEOUT = 30  # seconds
GRACE = 10  # seconds that downloads get after Ctrl-C
THREADS = 64  # each download takes one here, where no nginx serves it


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
        base = f"http://{HOST}:{port}"
        only_one(data_dir(os.environ), base)
        try:
            number = usable_port(HOST, port)
        except ValueError as exc:
            raise CommandError(f"{exc} Choose another: make run PORT={free_port()}") from None
        os.environ.setdefault("EMAIL_URL", "mailbox://localhost")
        os.environ.setdefault("BASE_URL", base)
        self.report("Preparing the database …")
        with as_owner():
            call_command("migrate", verbosity=0)
        static_files.collect()
        if demo.wanted():
            demo.load(self.report)
        verify_log()
        receiver = demo_receiver(base)
        self.report("Starting …")
        text = welcome(base, has_receiver=receiver is not None)
        if not os.environ.get("VERBOSE"):
            log_to(log_file())
            text += f"Requests and errors are in {log_file()}. Here: VERBOSE=1 make run\n"
        connections.close_all()
        write_variables()
        companions = [*own_companions(number), *([receiver] if receiver else [])]
        threading.Thread(target=self.announce, args=(base, text), daemon=True).start()
        with graceful_shutdown() as shutdown, running(companions) as [server, *_]:
            try:
                while server.poll() is None:
                    shutdown.wait(1)
            except Stopped as exc:
                sys.exit(0 if exc.status == 128 + signal.SIGINT else exc.status)
            finally:
                env.file().unlink(missing_ok=True)
        raise CommandError(f"The server has ended with status {server.returncode}.")

    def report(self, line: str) -> None:
        """On a terminal, each step replaces the last one; elsewhere they are of no use."""
        if self.stdout.isatty():
            self.stdout.write(f"\r\033[K{line}", ending="")
            self.stdout.flush()

    def announce(self, base: str, text: str) -> None:
        """Prints the text as soon as the server responds."""
        late = time.monotonic() + READY_TIMEOUT
        while not responds(f"{base}/api/v1/me"):
            if time.monotonic() > late:
                self.stdout.write(f"\nThe service does not respond yet; see {log_file()}")
                late += READY_TIMEOUT
            time.sleep(0.05)
        self.report("")
        self.stdout.write(text)
        self.stdout.flush()


def log_file() -> Path:
    """What the server and the processes beside it log."""
    return data_dir(os.environ) / "run.log"


def log_to(file: Path) -> None:
    """From now on, what this process and its children write to stderr is in the file."""
    with file.open("a") as log:
        os.dup2(log.fileno(), sys.stderr.fileno())


def verify_log() -> None:
    """Verifies the audit log once, as a timer does every week elsewhere, for the page System."""
    with contextlib.suppress(CommandError):  # it is damaged
        call_command("verify_audit", stdout=StringIO())


def only_one(folder: Path, base: str) -> None:
    """Locks the data folder until the process ends: a second run would share companions' files.

    Raises:
        CommandError: another process holds the lock; the text names the address that it serves.
            Or that process, whose services this one has joined, has ended just now.
    """
    folder.mkdir(parents=True, exist_ok=True)
    lock = os.open(folder / "run.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise CommandError(
            f"make run serves {os.read(lock, 100).decode()} with the data folder {folder} already, "
            "or is just stopping. "
            "Another one beside it: make run PORT=8001 DATA_DIR=/path/to/folder"
        ) from None
    try:
        connection.ensure_connection()
    except OperationalError as exc:
        raise CommandError(
            f"The database: {first_line(exc)}. If a make run was just stopping, start it again."
        ) from None
    os.truncate(lock, 0)
    os.write(lock, base.encode())


def responds(url: str) -> bool:
    """Whether a server responds at `url`, with any status."""
    try:
        urllib.request.urlopen(url, timeout=1).close()  # noqa: S310 - our own address
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def write_variables() -> None:
    """Lets `manage.py` in another terminal use what runs here."""
    known = [name for name in (*env.VARIABLES, "DATA_DIR") if name in os.environ]
    write_private(env.file(), "".join(f"{name}={os.environ[name]}\n" for name in known))


def own_companions(port: int) -> list[Companion]:
    """The service's processes. Takes variables away that the server must not have."""
    command = ["-m", "granian", "--interface", "wsgi", "--http", "1", "--no-ws"]
    command += ["--host", HOST, "--port", str(port), "--blocking-threads", str(THREADS)]
    command += ["--respawn-failed-workers", "--workers-kill-timeout", str(GRACE)]
    command += ["--log-level", "warning", "config.wsgi:application"]
    os.environ.pop("DATABASE_OWNER_URL", None)  # it must not be able to migrate
    os.environ.pop("PGOPTIONS", None)  # manage.py's: no time-outs
    with_key = dict(os.environ)
    for name in ("AUDIT_SIGNING_KEY", "DATABASE_SEALER_URL"):
        os.environ.pop(name, None)  # nor to seal
    return [
        Companion("granian", command, dict(os.environ), "make run ends."),
        Companion(
            "seal_audit",
            ["manage.py", "seal_audit", "--follow"],
            with_key,
            "the audit log is not sealed until the next start.",
        ),
        Companion(
            "housekeeping",
            ["manage.py", "housekeeping", "--follow"],
            dict(os.environ),
            "old rows stay until the next start.",
        ),
        Companion(
            "deliver_webhooks",
            ["manage.py", "deliver_webhooks"],
            dict(os.environ),
            "no webhook is sent until the next start.",
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
        "DTD_API_KEY": demo_key(admin, RECEIVER_KEY_NAME),
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


def demo_key(membership: Membership, name: str) -> str:
    """A raw key for the workspace: the same at each start, until somebody ends it."""
    workspace, admin = membership.workspace, membership.user
    for number in itertools.count(1):
        what = f"{workspace.id}:{name}:{number}"
        raw = PREFIX + derived(f"key:{what}").hex()[: keys.SECRET_LENGTH]
        id = UUID(bytes=derived(f"key id:{what}")[:16])
        with contextlib.suppress(AlreadyIssued):
            return ApiKey.objects.issue(workspace=workspace, name=name, by=admin, id=id, raw=raw)[1]
        if ApiKey.objects.active().filter(pk=id).exists():
            return raw
    raise AssertionError


def derived(what: str) -> bytes:
    """32 bytes that are the same at each start with this SECRET_KEY."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"demo:{what}".encode(), "sha256")


def demo_password(user: User) -> str:
    """A demo user's password."""
    password = base64.b32encode(derived(user.username)[:10]).decode().lower()
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
    lines = [f"\nReady: {base}\n"]
    admins = Membership.objects.admins().select_related("workspace", "user")
    for tenant in demo.TENANTS:
        if admin := admins.filter(workspace=tenant.id).first():
            raw = demo_key(admin, KEY_NAME)
            lines.append(f"Key for {admin.workspace}: {raw}")
            if tenant == demo.ACME:
                url = f"{base}/api/v1/documents?limit=2"
                curl = f"curl -sS -H 'Authorization: Bearer {raw}' '{url}'"
                lines.append(f"  {curl} | python3 -m json.tool")
                lines.append("The same with the command dtd, after pip install ./client:")
                lines.append(f"  export DTD_BASE_URL={base} DTD_API_KEY={raw}")
                lines.append("  dtd ls --limit 2")
    lines.append(f"\nAdmin: {base}/admin/")
    for person in demo.PEOPLE:
        if user := User.objects.filter(username=person.login).first():
            lines.append(f"  {user.username:<24}{demo_password(user):<18}{person.does}")
    if settings.SECOND_FACTOR == "nobody":
        lines.append("  They need no second factor. With one: SECOND_FACTOR=admins make run")
    lines.append(f"\nE-mails: {base}{reverse('admin:mailbox')}")
    if has_receiver:
        lines.append(f"\nWebhooks: examples/receive.py saves what Acme completes in {received()}")
        lines.append("Complete a document in another terminal, and watch it arrive here:")
        lines.append(f"  {complete_command()}")
    lines.append("\nStop with Ctrl-C. The data stays for the next start.\n")
    return "\n".join(lines)
