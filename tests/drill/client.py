"""What the drill requests over TLS; it runs in the root, with Debian's Python.

client.py snapshot   prints path, status and digest of the body of /me, the whole list, and the
                     details and files of each page's first documents
client.py load FILE  reads the list with cursors until FILE is gone; fails if a response is not 200
"""

import hashlib
import http.client
import json
import ssl
import sys
import time
from pathlib import Path

HOST = "api.example.com"
KEY = Path("/root/key").read_text().strip()
TRUST = ssl.create_default_context(cafile="/etc/documents-api/tls/certificate.pem")
DOWNLOADS = ("original", "signed", "certificate")
DETAILS = 2  # documents of a page


def get(path: str) -> tuple[int, bytes]:
    """The status and body; waits when the rate limit says so."""
    connection = http.client.HTTPSConnection(HOST, context=TRUST, timeout=20)
    connection.request("GET", f"/api/v1{path}", headers={"Authorization": f"Bearer {KEY}"})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    if response.status == 429:
        time.sleep(int(response.headers["Retry-After"]))
        return get(path)
    return response.status, body


def snapshot() -> None:
    def show(path: str) -> bytes:
        status, body = get(path)
        print(path, status, hashlib.sha256(body).hexdigest())
        return body

    show("/me")
    cursor = ""
    while cursor is not None:
        page = json.loads(show(f"/documents?limit=10{cursor and '&cursor=' + cursor}"))
        cursor = page["nextCursor"]
        for document in page["data"][:DETAILS]:
            show(f"/documents/{document['id']}")
            for file in DOWNLOADS:
                show(f"/documents/{document['id']}/download?type={file}")


def load(running: Path) -> None:
    statuses = []
    while running.exists():
        status, body = get("/documents?limit=1")
        statuses.append(status)
        if status == 200:  # another instance may have issued it
            statuses.append(get(f"/documents?limit=1&cursor={json.loads(body)['nextCursor']}")[0])
        time.sleep(0.3)
    print(f"{len(statuses)} requests meanwhile, {len(statuses) - statuses.count(200)} failed")
    sys.exit(set(statuses) != {200})


if sys.argv[1] == "snapshot":
    snapshot()
else:
    load(Path(sys.argv[2]))
