#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx", "standardwebhooks"]
# ///
"""Receives webhooks, and downloads the signed PDF of each document that is completed.

It stores an event in FOLDER/events.sqlite3, then responds, then downloads: no crash loses an event,
and one that arrives twice changes nothing. The PDF is saved in FOLDER/DOCUMENT_ID/. Each arrival is
one line on stdout. It listens on 127.0.0.1 without TLS: the address that you register is that of a
web server with TLS, which forwards to it.

  DTD_BASE_URL        address of the service, without /api/v1: https://…
  DTD_API_KEY         a key from the workspace's developer settings: dtd_…
  DTD_WEBHOOK_SECRET  the endpoint's secret: whsec_…
  PORT                to listen on; 8080 if it is not set
"""

import argparse
import base64
import hashlib
import json
import os
import re
import sqlite3
import sys
import threading
import time
from contextlib import closing, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import SHUT_RDWR
from urllib.parse import unquote
from uuid import UUID

import httpx
from standardwebhooks import Webhook, WebhookVerificationError

VARIABLES = ("DTD_BASE_URL", "DTD_API_KEY", "DTD_WEBHOOK_SECRET")
MAX_BODY = 65536  # bytes
SECONDS = 10  # that a request may take; the service waits 15 for the response
KEEP_DAYS = 40  # of events, to know duplicates; the service sends none that is older than 30
GONE = ("document_not_found", "document_not_complete")  # deleted since, or not complete any more
MAX_WAIT = 3600  # seconds between two attempts to download


class Events:
    """The events that have arrived, in a file that survives a crash at any moment."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.file = folder / "events.sqlite3"
        self.arrived = threading.Event()
        self.change(
            "CREATE TABLE IF NOT EXISTS events (id TEXT PRIMARY KEY, document TEXT, arrived REAL,"
            " attempts INTEGER DEFAULT 0, due REAL)"  # due: NULL after the download
        )
        old = time.time() - KEEP_DAYS * 86400
        self.change("DELETE FROM events WHERE due IS NULL AND arrived < ?", old)

    def change(self, statement: str, *values: object) -> int:
        """Returns how many rows have changed, once that is on the disk."""
        with closing(sqlite3.connect(self.file)) as database, database:
            return database.execute(statement, values).rowcount

    def add(self, id: str, document: UUID) -> bool:
        """Stores an event. Returns False if it was stored before."""
        now = time.time()
        insert = "INSERT OR IGNORE INTO events (id, document, arrived, due) VALUES (?, ?, ?, ?)"
        is_new = self.change(insert, id, str(document), now, now) == 1
        self.arrived.set()
        return is_new

    def next(self) -> tuple[str, str, int]:
        """Waits until a download is due. Returns the event, the document, and the attempts."""
        select = "SELECT id, document, attempts, due FROM events WHERE due > 0 ORDER BY due LIMIT 1"
        while True:
            self.arrived.clear()
            with closing(sqlite3.connect(self.file)) as database:
                found = database.execute(select).fetchone()
            seconds = found[3] - time.time() if found else MAX_WAIT
            if seconds <= 0:
                return found[0], found[1], found[2]
            self.arrived.wait(min(seconds, MAX_WAIT))


class Handler(BaseHTTPRequestHandler):
    """Responds to one request. The service repeats it later, unless the response is a 2xx."""

    events: Events
    webhook: Webhook

    def do_POST(self) -> None:  # noqa: N802 - the base class calls it
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,7}", length) or int(length) > MAX_BODY:
            return self.respond(413)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return None
        try:
            self.webhook.verify(body, dict(self.headers), json_parse=False)
        except (WebhookVerificationError, ValueError) as exc:
            log(f"Refused: {exc}")
            return self.respond(401)
        event = json.loads(body)
        kind, document = event["type"], event["data"]["id"]
        is_new = True
        if kind == "document.completed":  # ignore kinds that you do not know
            is_new = self.events.add(event["id"], UUID(document))
        self.respond(204)
        print(f"{kind} {document}{'' if is_new else ' (again)'}", flush=True)
        return None

    def respond(self, status: int) -> None:
        self.send_response(status)
        self.end_headers()

    def handle(self) -> None:
        """Ends a connection on which a request takes too long."""
        timer = threading.Timer(SECONDS, self.cut)
        timer.daemon = True
        timer.start()
        try:
            with suppress(ConnectionError):
                super().handle()
        finally:
            timer.cancel()

    def cut(self) -> None:
        with suppress(OSError):  # it has just ended
            self.connection.shutdown(SHUT_RDWR)

    def log_message(self, format: str, *args: object) -> None:
        """Prints nothing: `do_POST` does."""


def problem_with(response: httpx.Response) -> str:
    """Describes why the response is not the whole file; empty if it is."""
    if response.status_code != 200:
        is_json = response.headers.get("Content-Type") == "application/json"
        return f"{response.url}: {response.json()['error'] if is_json else response.status_code}"
    digest = base64.b64encode(hashlib.sha256(response.content).digest()).decode()
    whole = response.headers.get("Repr-Digest") == f"sha-256=:{digest}:"
    return "" if whole else f"{response.url}: The file is damaged: its digest differs."


def save(file: httpx.Response, folder: Path) -> Path:
    """Saves the file as a whole or not at all, under its own name made safe for a path."""
    named = re.search(r"filename\*=UTF-8''([^;]+)", file.headers.get("Content-Disposition", ""))
    name = unquote(named[1]) if named else ""
    name = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]', "_", name).strip(" .") or "signed.pdf"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".part").open("wb") as part:
        part.write(file.content)
        part.flush()
        os.fsync(part.fileno())
    return (folder / ".part").replace(folder / name)


def work(events: Events, api: httpx.Client, folder: Path) -> None:
    """Downloads what the events name, one after the other, for ever."""
    while True:
        id, document, attempts = events.next()
        seconds = min(2**attempts, MAX_WAIT)
        try:
            response = api.get(f"/api/v1/documents/{document}/download", params={"type": "signed"})
        except httpx.HTTPError as exc:
            problem = f"{document}: {exc}."
        else:
            if not (problem := problem_with(response)):
                print(f"saved {save(response, folder / document)}", flush=True)
            if not problem or response.headers.get("Error-Code") in GONE:
                seconds = 0
            else:
                seconds = max(seconds, int(response.headers.get("Retry-After", 0)))
        if problem:
            log(f"{problem} Next attempt in {seconds} s." if seconds else problem)
        due = time.time() + seconds if seconds else None
        events.change("UPDATE events SET attempts = attempts + 1, due = ? WHERE id = ?", due, id)


def log(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=Path("received"))
    folder = parser.parse_args().to
    if missing := [name for name in VARIABLES if not os.environ.get(name)]:
        sys.exit(f"Set {' and '.join(missing)}; see --help.")
    base, key, secret = (os.environ[name].strip() for name in VARIABLES)
    if not re.fullmatch("whsec_[A-Za-z0-9+/]{20,}=*", secret):
        sys.exit("DTD_WEBHOOK_SECRET must be the endpoint's secret: whsec_…")
    try:
        Handler.webhook, Handler.events = Webhook(secret), Events(folder)
        server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT") or 8080)), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            print(f"Listening on http://127.0.0.1:{server.server_port}", flush=True)
            work(Handler.events, api, folder)
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next start goes on from here.")
    except (OSError, OverflowError, ValueError, httpx.InvalidURL, sqlite3.Error) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    main()
