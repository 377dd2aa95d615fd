"""run: the service on a laptop, with demo data; `make run` calls it.

It listens on the loopback interface only.
"""

import base64
import hmac
import os
import signal
import threading
import time
import urllib.error
import urllib.request
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher, check_password
from django.contrib.auth.models import User
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections
from django.utils.crypto import get_random_string

from apikeys.models import ApiKey
from config import static_files
from config.management.progress import ProgressCommand
from config.management.sealing import sealer
from config.management.shutdown import when_parent_dies
from config.ports import usable_port
from config.server.supervisor import Supervisor
from documents import demo
from workspaces.models import Membership

KEY_NAME = "make run"  # of the keys that this command issues and replaces at its next start
HOST = "127.0.0.1"
READY_TIMEOUT = 30  # seconds
GRACE = 10  # seconds that downloads get after Ctrl-C


class Command(ProgressCommand):
    help = "Serves the API with its demo data on this machine, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", default=os.environ.get("PORT") or "8000")
        parser.add_argument(
            "--stop-with-parent", action="store_true", help="end when the parent process ends"
        )

    def handle(self, *, port: str, stop_with_parent: bool, **options: Any) -> None:
        if stop_with_parent:
            when_parent_dies(os.getppid(), lambda: os.kill(os.getpid(), signal.SIGTERM))
        try:
            number = usable_port(HOST, port)
        except ValueError as exc:
            raise CommandError(f"{exc} Choose another: make run PORT=8001") from None
        self.report("Preparing the database …")
        call_command("migrate", verbosity=0)
        static_files.collect()
        if demo.wanted():
            demo.load(self.report)
        base = f"http://{HOST}:{number}"
        text = welcome(base)
        connections.close_all()
        os.environ.pop("DATABASE_OWNER_URL", None)  # the server must not be able to migrate
        environment = dict(os.environ)
        os.environ.pop("AUDIT_SIGNING_KEY", None)  # nor to sign
        threading.Thread(target=self.announce, args=(base, text), daemon=True).start()
        with sealer(environment):
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


def responds(url: str) -> bool:
    """Whether a server responds at `url`, with any status."""
    try:
        urllib.request.urlopen(url, timeout=1).close()  # noqa: S310 - our own address
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def fresh_key(membership: Membership) -> str:
    """A new raw key for the workspace; deletes the key of the last start."""
    workspace, admin = membership.workspace, membership.user
    for old in ApiKey.objects.filter(workspace=workspace).filter(name=KEY_NAME):
        old.delete_by(by=admin)
    return ApiKey.objects.issue(workspace=workspace, name=KEY_NAME, by=admin)[1]


def demo_password(user: User) -> str:
    """A demo user's password: derived from SECRET_KEY, so it is the same at each start."""
    digest = hmac.digest(settings.SECRET_KEY.encode(), f"demo:{user.username}".encode(), "sha256")
    password = base64.b32encode(digest[:10]).decode().lower()
    if not (user.has_usable_password() and check_password(password, user.password)):
        # Few iterations: 80 random bits need no slow hash, and seven of them would delay the start.
        user.password = PBKDF2PasswordHasher().encode(password, get_random_string(22), 1000)
        user.save(update_fields=["password"])
    return password


def welcome(base: str) -> str:
    """The text that `make run` prints: keys, a curl command, and the logins.

    Args:
        base: the server's address.
    """
    lines = [f"\nReady: {base}"]
    admins = Membership.objects.admins().select_related("workspace", "user")
    for tenant in demo.TENANTS:
        if admin := admins.filter(workspace=tenant.id).first():
            raw = fresh_key(admin)
            lines.append(f"\nKey for {admin.workspace}: {raw}")
            if tenant == demo.ACME:
                url = f"{base}/api/v1/documents?limit=2"
                lines.append(f"  curl -H 'Authorization: Bearer {raw}' '{url}'")
    lines.append(f"\nAdmin: {base}/admin/")
    for person in demo.PEOPLE:
        if user := User.objects.filter(username=person.login).first():
            lines.append(f"  {user.username:<24}{demo_password(user):<18}{person.does}")
    lines.append("\nStop with Ctrl-C. The data stays for the next start.\n")
    return "\n".join(lines)
