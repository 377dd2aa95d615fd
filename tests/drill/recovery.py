"""`python -m tests.drill.recovery`: docs/recovery.md word by word, in a bare Debian.

Before that it makes the faults of docs/incidents.md.
It needs what `make drill` needs. The second to restore to is between two downloads.
"""

import json
import re
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

from tests.drill.__main__ import CHECKOUT, guide, prepare, step
from tests.drill.incidents import inflict
from tests.drill.root import Root, require_tools

TIME = re.compile(r"^time='.*'$", re.M)  # what the page asks for in words
ENTRIES = """SELECT string_agg(request_id, ' ') FROM audit_auditentry
    WHERE action = 'document.downloaded'"""


def installed(root: Root) -> None:
    """Follows the guide to the first request."""
    for heading, block in guide():
        if heading != "From a bare Debian to a served request":
            return
        with step(f"{heading}: {block.splitlines()[-1].strip()}"[:69]):
            root.run(block)


def query(root: Root, sql: str) -> str:
    return root.run(f'runuser -u postgres -- psql -XAt -d documents -c "{sql}"').strip()


def get(root: Root, path: str) -> tuple[str, bytes]:
    """The headers, with the status before them, and the body."""
    headers = root.run(
        "curl -sS -D - -o /root/body --cacert /etc/documents-api/tls/certificate.pem "
        f"-H @- 'https://api.example.com/api/v1{path}' "
        '<<<"Authorization: Bearer $(cat /root/documents-api-demo-key)"'
    )
    return headers, (root.folder / "root/body").read_bytes()


def download(root: Root) -> str:
    """Downloads a document; returns the request's id."""
    [found] = json.loads(get(root, "/documents?limit=1")[1])["data"]
    headers, _ = get(root, f"/documents/{found['id']}/download")
    assert " 200" in headers.splitlines()[0], headers
    [request] = re.findall(r"^request-id: (\w+)", headers, re.M | re.I)
    return str(request)


def restore(root: Root) -> None:
    """Restores to a time between two downloads, and compares what is there with what was."""
    blocks = guide(CHECKOUT / "docs/recovery.md")
    titles = ["Set it up", "Set it up", "Back up", *["Restore to a second"] * 3]
    assert [heading for heading, _ in blocks] == titles
    for _, block in blocks[:3]:
        with step(block.splitlines()[-1][:69]):
            root.run(block)
    first = download(root)
    time = query(root, "SELECT clock_timestamp()")
    second = download(root)
    cursor = json.loads(get(root, "/events")[1])["nextCursor"]
    assert {first, second} <= set(query(root, ENTRIES).split())
    [restoring, *others] = [block for _, block in blocks[3:]]
    assert TIME.search(restoring)
    for block in [TIME.sub(f"time='{time}'", restoring), *others]:
        with step(block.splitlines()[-1].strip()[:69]):
            root.run(block)
    lost = "".join(
        re.findall("document.downloaded,.*", (root.folder / "root/lost.csv").read_text())
    )
    assert (first in lost, second in lost) == (False, True)
    kept = query(root, ENTRIES).split()
    assert (first in kept, second in kept) == (True, False)
    assert " 410" in get(root, f"/events?after={cursor}")[0].splitlines()[0]
    with step("  the audit log is sealed and verified, the archive goes on"):
        root.run("systemctl start documents-api-verify")
        assert download(root) in query(root, ENTRIES)
        root.run(blocks[2][1])


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    require_tools()
    place = Path(tempfile.mkdtemp(prefix="recovery-"))
    place.chmod(0o755)
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, place)
        with step("a bare Debian"):
            prepare(place / "machine")
        root = Root(place / "machine")
        stack.callback(root.close)
        installed(root)
        inflict(root)
        restore(root)


if __name__ == "__main__":
    main()
