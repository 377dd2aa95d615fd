"""Load of the drill's upgrade; it runs in the root, with Debian's Python.

upgrade_load.py FILE  reads /me, the list and a file until FILE is gone; prints how many times, and
                      each response that is not a 200
"""

import http.client
import json
import ssl
import sys
import time
from pathlib import Path

HOST = "api.example.com"
KEY = Path("/root/key").read_text().strip()
TRUST = ssl.create_default_context(cafile="/etc/documents-api/tls/certificate.pem")
PAUSE = 0.75  # seconds; three requests each are fewer than 300 a minute


def get(path: str) -> bytes:
    """The body; prints what is not a 200."""
    connection = http.client.HTTPSConnection(HOST, context=TRUST, timeout=20)
    try:
        connection.request("GET", f"/api/v1{path}", headers={"Authorization": f"Bearer {KEY}"})
        response = connection.getresponse()
        body = response.read()
        if response.status != 200:
            print(time.strftime("%T"), path, response.status, body[:200])
    except OSError as exc:
        print(time.strftime("%T"), path, repr(exc))
        return b""
    finally:
        connection.close()
    return body


document = json.loads(get("/documents?limit=1"))["data"][0]["id"]
count = 0
while Path(sys.argv[1]).exists():
    count += 1
    get("/me")
    get("/documents?limit=5")
    assert get(f"/documents/{document}/download?type=original").startswith(b"%PDF")
    time.sleep(PAUSE)
print(count)
