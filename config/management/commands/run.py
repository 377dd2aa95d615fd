"""run: the service on a laptop, with demo data; `make run` calls it.

It listens on the loopback interface only.
"""

import contextlib
import os
import shlex
import subprocess
import sys
import time
from io import StringIO
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from config import env
from config.dev import demo, services
from config.dev.services import HOST, Program
from config.ports import free_port, usable_port

THREADS = 64  # each download takes one here, where no nginx serves it
# The server is the last: its pages say which of the others are missing.
PROGRAMS = {
    "seal_audit": "manage.py seal_audit --follow",
    "housekeeping": "manage.py housekeeping --follow",
    "deliver_webhooks": "manage.py deliver_webhooks",
    "server": f"-m granian --interface wsgi --http 1 --no-ws --log-level warning --host {HOST} "
    f"--port {{port}} --blocking-threads {THREADS} --blocking-threads-idle-timeout 600 "
    "--respawn-failed-workers --workers-kill-timeout 10 config.wsgi:application",
}


class Command(BaseCommand):
    help = "Serves the API with its demo data on this machine, until Ctrl-C."

    def handle(self, **options: Any) -> None:
        try:
            port = usable_port(HOST, os.environ.get("PORT") or "8000")
        except ValueError as exc:
            raise CommandError(f"{exc} Choose another: make run PORT={free_port()}") from None
        self.prepare()
        base, folder = f"http://{HOST}:{port}", env.data_dir()
        programs = [
            Program(name, [sys.executable, *words.format(port=port).split()], folder / "run.log")
            for name, words in PROGRAMS.items()
            if name != "seal_audit" or settings.AUDIT_SIGNING_KEY
        ]
        programs[-1].port = port  # of the server
        text = [f"\nReady: {base}\n", *demo.text(base)]
        if variables := demo.receiver_variables(base):
            received = folder / "received"
            command = [sys.executable, "examples/receive.py", "--to", received]
            options = {"env": os.environ | variables, "stdout": None}
            programs.insert(0, Program("receive.py", command, folder / "run.log", **options))
            manage = shlex.join(["env", f"DATA_DIR={folder}", sys.executable, "manage.py"])
            text += [
                f"\nWebhooks: examples/receive.py saves what Acme completes in {received}",
                "Complete a document in another terminal, and watch it arrive here:",
                f"  {manage} complete_document",
            ]
        text += [f"\nRequests and errors are in {folder / 'run.log'}"]
        text += ["Stop with Ctrl-C. The data stays for the next start."]
        self.serve(programs, "\n".join(text))

    def prepare(self) -> None:
        self.stdout.write("Preparing the database …")
        owner = os.environ.get("DATABASE_OWNER_URL") or os.environ["DATABASE_URL"]
        done = subprocess.run(
            [sys.executable, "manage.py", "migrate", "--verbosity=0"],
            env={**os.environ, "DATABASE_URL": owner},
            start_new_session=True,  # Ctrl-C in the terminal is for this process
        )
        if done.returncode:
            raise CommandError("The database could not be prepared.")
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        demo.load(self.stdout.write)
        with contextlib.suppress(CommandError):  # a page says that the log is damaged
            call_command("verify_audit", stdout=StringIO())

    def serve(self, programs: list[Program], text: str) -> None:
        """Runs the programs until Ctrl-C, or until the last of them ends: the server."""
        server = programs[-1]
        connections.close_all()
        known = [name for name in (*env.VARIABLES, "DATA_DIR") if name in os.environ]
        env.file().write_text("".join(f"{name}={os.environ[name]}\n" for name in known))
        os.environ.pop("PGOPTIONS")  # the server's statements have the time-outs of its role
        try:
            for each in programs:
                each.start()
            self.stdout.write(text)
            watched = programs + services.started
            while server.process.poll() is None:
                time.sleep(1)
                for ended in [one for one in watched if one.process.poll() is not None]:
                    status = f"{ended.name} ended with status {ended.process.returncode}"
                    self.stdout.write(f"{status}: it is missing until the next start.")
                    watched.remove(ended)
        except RuntimeError as exc:
            raise CommandError(str(exc)) from exc
        finally:
            env.file().unlink(missing_ok=True)  # somebody may have deleted the folder
        raise CommandError(f"The server has ended, so everything ends; see {server.log}")
