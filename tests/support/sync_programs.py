"""The programs of `test_sync_killed.py`: one that writes, and two consumers. Each may be killed.

python tests/support/sync_programs.py write DATABASE_URL WORKSPACE_ID SEED
python tests/support/sync_programs.py receive PORT SECRET FILE
python tests/support/sync_programs.py follow URL KEY FOLDER
"""

import json
import os
import random
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import dtd
import psycopg

POLL = 0.3  # seconds; the rate limit allows 300 requests a minute

# Each document becomes viewed and then complete, in one transaction or in two.
_VIEW = """
    UPDATE documents_document SET status = 'VIEWED' WHERE id IN (
        SELECT id FROM documents_document WHERE workspace_id = %s AND status = 'SENT'
        ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
"""
_COMPLETE = """
    UPDATE documents_document SET status = 'COMPLETED', completed_at = now() WHERE id IN (
        SELECT id FROM documents_document WHERE workspace_id = %s AND status = 'VIEWED'
        ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED)
"""


def write(url: str, workspace_id: str, seed: str) -> None:
    """Changes documents until all are complete; some transactions are undone."""
    draw = random.Random(int(seed))  # noqa: S311
    while True:
        try:
            with psycopg.connect(url) as connection:
                while work_left(connection, workspace_id):
                    with connection.transaction() as change:
                        for statement in draw.choice([(_VIEW,), (_COMPLETE,), (_VIEW, _COMPLETE)]):
                            connection.execute(statement, [workspace_id, draw.randint(1, 10)])
                            time.sleep(draw.random() * 0.2)
                        if draw.random() < 0.1:
                            raise psycopg.Rollback(change)
                return
        except psycopg.OperationalError:  # the connection was ended
            time.sleep(0.1)


def work_left(connection: "psycopg.Connection[tuple[bool]]", workspace_id: str) -> bool:
    row = connection.execute(
        "SELECT EXISTS (SELECT FROM documents_document WHERE workspace_id = %s"
        " AND status <> 'COMPLETED')",
        [workspace_id],
    ).fetchone()
    connection.commit()
    return bool(row and row[0])


def receive(port: str, secret: str, file: str) -> None:
    """Writes each event that arrives to the file before it responds."""
    output = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            event = dtd.webhooks.unwrap(body, dict(self.headers), secret)
            assert event.id == self.headers["webhook-id"]
            os.write(output, body + b"\n")  # one call: a line is there as a whole or not at all
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: object) -> None:
            return

    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


def follow(url: str, key: str, folder: str) -> None:
    """Keeps new events, with the cursor that follows them, in a file that appears whole."""
    pages = sorted(Path(folder).glob("*.json"))
    after = json.loads(pages[-1].read_text())["nextCursor"] if pages else None
    number, part = len(pages), Path(folder, "part")
    events = dtd.Client(key, url).events(after=after)
    while True:
        if data := [event.raw for event in events]:
            part.write_text(json.dumps({"data": data, "nextCursor": events.cursor}))
            part.rename(Path(folder, f"{number:06}.json"))
            number += 1
        time.sleep(POLL)


if __name__ == "__main__":
    {"write": write, "receive": receive, "follow": follow}[sys.argv[1]](*sys.argv[2:])
