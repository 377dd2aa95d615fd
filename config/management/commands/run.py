"""run: the service on a laptop, with demo data; `make run` calls it.

It listens on the loopback interface only.
"""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser
from io import StringIO
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections

from config import env
from config.dev.services import HOST, die_with_parent, write_private
from config.management.commands import demo as demo_command
from config.management.progress import ProgressCommand
from config.management.shutdown import Stopped, graceful_shutdown
from config.runtime import static_files
from config.runtime.ports import accepts_connections, free_port, usable_port
from config.runtime.postgresql.roles import as_owner
from documents import demo
from events.webhooks import demo as webhooks
from workspaces.models import Membership

STOP_SECONDS = 15  # that a process gets to end
THREADS = 64  # each download takes one here, where no nginx serves it
GRANIAN = "-m granian --interface wsgi --http 1 --no-ws --log-level warning \
--respawn-failed-workers --workers-kill-timeout 10 config.wsgi:application"
# The service's processes beside the server, with the variables that only they have.
BESIDE = {
    "manage.py seal_audit --follow": ("AUDIT_SIGNING_KEY", "DATABASE_SEALER_URL"),
    "manage.py housekeeping --follow": (),
    "manage.py deliver_webhooks": (),
}
# What the server does without. Its statements have the time-outs of its role.
SECRET = ("DATABASE_OWNER_URL", "AUDIT_SIGNING_KEY", "DATABASE_SEALER_URL", "PGOPTIONS")


class Command(ProgressCommand):
    help = "Serves the API with its demo data on this machine, until Ctrl-C."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", default=os.environ.get("PORT") or "8000")

    def handle(self, *, port: str, **options: Any) -> None:
        try:
            number = usable_port(HOST, port)
        except ValueError as exc:
            raise CommandError(f"{exc} Choose another: make run PORT={free_port()}") from None
        base = f"http://{HOST}:{number}"
        os.environ.setdefault("WEBHOOK_TARGETS", "any")  # a laptop has no public address
        os.environ.setdefault("EMAIL_URL", "mailbox://localhost")
        os.environ.setdefault("BASE_URL", base)
        self.report("Preparing the database …")
        with as_owner():
            call_command("migrate", verbosity=0)
        static_files.collect()
        demo_command.load(self.report)
        with contextlib.suppress(CommandError):  # the log is damaged, which a page says
            call_command("verify_audit", stdout=StringIO())
        received = env.data_dir() / "received"
        server = f"{GRANIAN} --host {HOST} --port {number} --blocking-threads {THREADS}"
        processes: list[tuple[str, dict[str, str]]] = [(server, {})]
        for command, secret in BESIDE.items():
            processes.append((command, {name: os.environ.get(name, "") for name in secret}))
        if receiver := demo_receiver(base):
            processes.append((shlex.join(["examples/receive.py", "--to", str(received)]), receiver))
        text = [f"\nReady: {base}\n", *demo_command.text(base)]
        if receiver:
            complete = ["env", f"DATA_DIR={env.data_dir()}", sys.executable, "manage.py"]
            text += [
                f"\nWebhooks: examples/receive.py saves what Acme completes in {received}",
                "Complete a document in another terminal, and watch it arrive here:",
                f"  {shlex.join([*complete, 'complete_document'])}",
            ]
        text.append("\nStop with Ctrl-C. The data stays for the next start.")
        log = env.data_dir() / "run.log"
        if not os.environ.get("VERBOSE"):
            text.append(f"Requests and errors are in {log}. Here: VERBOSE=1 make run")
        connections.close_all()
        self.report("Starting …")
        self.serve(processes, None if os.environ.get("VERBOSE") else log, base, text)

    def report(self, line: str) -> None:
        """On a terminal, each step replaces the last one; elsewhere they are of no use."""
        if self.stdout.isatty():
            self.stdout.write(f"\r\033[K{line}", ending="")
            self.stdout.flush()

    def serve(
        self,
        processes: list[tuple[str, dict[str, str]]],
        log: Path | None,
        base: str,
        text: list[str],
    ) -> None:
        """Runs the processes, the server first, until a signal, or until the server ends."""
        write_variables()
        running: dict[str, subprocess.Popen[bytes]] = {}
        with graceful_shutdown() as shutdown, (log or Path(os.devnull)).open("a") as output:
            try:
                for command, own in processes:
                    running[command] = start(command, own, output.fileno() if log else None)
                [server, *_] = running.values()
                port = int(base.rpartition(":")[2])
                while not accepts_connections(HOST, port) and server.poll() is None:
                    shutdown.wait(0.1)
                self.report("")
                self.stdout.write("\n".join(text))
                self.stdout.flush()
                alive = dict(running)
                while server.poll() is None:
                    shutdown.wait(1)
                    self.name_ended(alive)
            except Stopped as exc:
                sys.exit(0 if exc.status == 128 + signal.SIGINT else exc.status)
            finally:
                env.file().unlink(missing_ok=True)
                stop(running.values())
        raise CommandError(f"The server has ended with status {server.returncode}; see {log}.")

    def name_ended(self, alive: "dict[str, subprocess.Popen[bytes]]") -> None:
        for command, process in list(alive.items()):
            if process.poll() is not None:
                del alive[command]
                self.stdout.write(
                    f"{command} ended with status {process.returncode}: it is missing until the "
                    "next start."
                )


def start(command: str, own: dict[str, str], output: int | None) -> "subprocess.Popen[bytes]":
    """Starts a Python program; it ends with this process, however that ends."""
    hidden = env.VARIABLES if "receive.py" in command else SECRET  # it is the consumer's program
    environ = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.Popen(  # noqa: S603 - our own command
        [sys.executable, *shlex.split(command)],
        cwd=settings.BASE_DIR,
        env=environ | own,
        stdin=subprocess.DEVNULL,
        stderr=output,
        stdout=None if "receive.py" in command else output,
        process_group=0,  # Ctrl-C in the terminal is for this process, which then stops it
        preexec_fn=lambda: die_with_parent(signal.SIGTERM),  # noqa: PLW1509
    )


def stop(processes: Any) -> None:
    for process in processes:
        process.terminate()
    until = time.monotonic() + STOP_SECONDS
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, until - time.monotonic()))
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # a worker outlives a granian that was killed


def write_variables() -> None:
    """Lets `manage.py` in another terminal use what runs here."""
    known = [name for name in (*env.VARIABLES, "DATA_DIR") if name in os.environ]
    write_private(env.file(), "".join(f"{name}={os.environ[name]}\n" for name in known))


def demo_receiver(base: str) -> dict[str, str] | None:
    """The variables of the example receiver, for the demo's workspace Acme, if there is one."""
    admin = Membership.objects.admins().filter(workspace=demo.ACME.id).first()
    found = webhooks.receiver(admin.workspace, admin.user) if admin else None
    if admin is None or found is None:
        return None
    port, secret = found
    return {
        "DTD_BASE_URL": base,
        "DTD_API_KEY": demo_command.key_of(admin, "receive.py"),
        "DTD_WEBHOOK_SECRET": secret,
        "PORT": str(port),
        "PYTHONPATH": str(settings.BASE_DIR / "client"),
    }
