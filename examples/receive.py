#!/usr/bin/env python3
"""Receives webhooks, and downloads the signed PDF of each document that is completed.

It stores an event in FOLDER/events.sqlite3, then responds, then downloads: no crash loses an event,
and one that arrives twice changes nothing. The PDF is saved in FOLDER/DOCUMENT_ID/. Each arrival is
one line on stdout. It listens on 127.0.0.1 without TLS: the address that you register is that of a
web server with TLS, which forwards to it.

It needs the package dtd-client[all]; the service's page /api/docs says how to install it.

  DTD_BASE_URL        address of the service, without /api/v1: https://…
  DTD_API_KEY         a key from the workspace's developer settings: dtd_…
  DTD_WEBHOOK_SECRET  the endpoint's secret: whsec_…
  PORT                to listen on; 8080 if it is not set
"""

import argparse
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
from uuid import UUID

import dtd
from dtd.errors import DocumentNotComplete, DocumentNotFound

VARIABLES = ("DTD_BASE_URL", "DTD_API_KEY", "DTD_WEBHOOK_SECRET")
MAX_BODY = 65536  # bytes
SECONDS = 10  # that a request may take; the service waits 15 for the response
KEEP_DAYS = 40  # of events, to know duplicates; the service sends none that is older than 30
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
    secret: str

    def do_POST(self) -> None:  # noqa: N802 - the base class calls it
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch("[0-9]{1,7}", length) or int(length) > MAX_BODY:
            return self.respond(413)
        body = self.rfile.read(int(length))
        if len(body) < int(length):
            return None
        try:
            event = dtd.webhooks.unwrap(body, dict(self.headers), self.secret)
        except dtd.Error as exc:
            log(f"Refused: {exc}")
            return self.respond(401)
        is_new = True
        if event.type == "document.completed":  # ignore types that you do not know
            is_new = self.events.add(event.id, UUID(event.data.id))
        self.respond(204)
        line = f"{event.type} {event.data.id}{'' if is_new else ' (again)'}"
        print(dtd.errors.printable(line), flush=True)
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


def work(events: Events, client: dtd.Client, folder: Path) -> None:
    """Downloads what the events name, one after the other, for ever."""
    while True:
        id, document, attempts = events.next()
        due = None
        try:
            (folder / document).mkdir(parents=True, exist_ok=True)
            path = client.download(document, type="signed", to=folder / document)
            print(f"saved {path}", flush=True)
        except (DocumentNotFound, DocumentNotComplete) as exc:  # deleted since, for example
            log(f"{document}: {exc}")
        except (dtd.Error, OSError) as exc:  # of the disk, too: one file must not stop the others
            seconds = max(min(2**attempts, MAX_WAIT), getattr(exc, "retry_after", None) or 0)
            log(f"{document}: {exc} Next attempt in {seconds:.0f} s.")
            due = time.time() + seconds
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
    secret = os.environ["DTD_WEBHOOK_SECRET"].strip()
    if not re.fullmatch("whsec_[A-Za-z0-9+/]{20,}=*", secret):
        sys.exit("DTD_WEBHOOK_SECRET must be the endpoint's secret: whsec_…")
    try:
        Handler.secret, Handler.events = secret, Events(folder)
        server = ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT") or 8080)), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with dtd.Client(patience=0) as client:  # the events wait for the next attempt
            log(f"Listening on http://127.0.0.1:{server.server_port}")
            work(Handler.events, client, folder)
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next start goes on from here.")
    except (OSError, OverflowError, ValueError, sqlite3.Error) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    main()
