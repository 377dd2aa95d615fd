"""`make drill`: follows docs/operations.md word by word in a bare Debian.

It needs root, debootstrap, iproute2, and the networks of Debian and of pip's package index. The
root's certificates and pip's variables are this machine's. The checkout is its last commit.

What it does not prove: systemd itself (tests/drill/systemctl replaces its command), timers, a
certificate from an authority, the storage's policy (the storage is `rclone serve s3`, which has
none), PgBouncer, Prometheus, several machines.
"""

import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.drill.root import Root, require_tools

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
STORE = [
    *("/usr/local/bin/s3", "serve", "s3", "/srv/store", "--addr=127.0.0.1:9000"),
    # As in deploy/env.example, and the one that it is replaced by.
    *("--auth-key=CHANGE-ME,CHANGE-ME", "--auth-key=SECOND-KEY,SECOND-KEY"),
]
EDITOR = "sed -i s/CHANGE-ME/SECOND-KEY/ /etc/documents-api/env"  # what the guide asks for in words
SNAPSHOT = "python3 /root/client.py snapshot"
COMPLETIONS = """SELECT count(*) FILTER (WHERE action = 'document.downloaded'),
    count(*) FILTER (WHERE action = 'document.download_ended') FROM audit_auditentry"""


@contextmanager
def step(name: str) -> Iterator[None]:
    """Prints the step's name and seconds."""
    started = time.monotonic()
    print(f"{name:70}", end="", flush=True)
    yield
    print(f"{time.monotonic() - started:6.1f} s", flush=True)


def prepare(folder: Path) -> None:
    """What a new machine brings: a bare Debian, DNS, this machine's trust, a release in /root."""
    subprocess.run(
        ["debootstrap", "--variant=minbase", "bookworm", str(folder)],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    trust = Path("/usr/local/share/ca-certificates")
    if trust.is_dir():
        shutil.copytree(trust, folder / str(trust)[1:], dirs_exist_ok=True)
    shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")
    (folder / "etc/hosts").write_text("127.0.0.1 localhost api.example.com\n")
    # Packages start nothing while they are installed: that would be outside of the root's network.
    policy = folder / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")
    policy.chmod(0o755)
    for name in ("systemctl", "journalctl"):
        shutil.copy(HERE / name, folder / "usr/local/bin")
    shutil.copy(HERE / "client.py", folder / "root")
    shutil.copy(CHECKOUT / ".venv/bin/rclone", folder / "usr/local/bin/s3")
    (folder / "srv/store").mkdir()
    archive = ["git", "archive", f"--output={folder}/root/documents-api.tar", "HEAD"]
    subprocess.run(archive, cwd=CHECKOUT, check=True)


def guide() -> list[tuple[str, str]]:
    """The guide's blocks of commands, each with the heading above it."""
    text = (CHECKOUT / "docs/operations.md").read_text()
    found, heading = [], ""
    for title, block in re.findall(r"^#+ ([^\n]*)$|^```sh\n(.*?)^```$", text, re.M | re.S):
        heading = title or heading
        if block:
            found.append((heading, block))
    return found


def follow(root: Root) -> None:
    """Runs the guide, with load while instances restart, and compares what the drill must keep."""
    before = ""
    for heading, block in guide():
        new_store_key = heading == "Keys of the object storage"
        if new_store_key:
            before = root.run(SNAPSHOT)
            root.run(EDITOR)
        with step(f"{heading}: {block.splitlines()[-1].strip()}"[:69]), ExitStack() as stack:
            if "deploy/restart\n" in block:
                stack.enter_context(load(root))
            output = root.run(block)
        if "deploy/backup" in block:
            with step("  responses, and a completion of each download"):
                before = root.run(SNAPSHOT)
                files = len(re.findall(r"/download\S+ 200 ", before))
                print(f"({len(before.splitlines())}, {files} of them files)", end="")
                wait_for_completions(root, files)
        if "deploy/restore" in block or new_store_key:
            with step("  the same responses, byte by byte"):
                assert root.run(SNAPSHOT) == before
        if "https://" in block or "explain" in block:
            print("   ", output.strip().splitlines()[-1][:100])


@contextmanager
def load(root: Root) -> Iterator[None]:
    """Reads the list meanwhile; no request may fail."""
    running = root.folder / "root/running"
    running.touch()
    words = root.command(["python3", "/root/client.py", "load", "/root/running"], root.folder)
    client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    try:
        yield
        time.sleep(1)
    finally:
        running.unlink()
        output, _ = client.communicate()
    if client.returncode:
        sys.exit(output)
    print(f"({output.strip()})", end="")


def wait_for_completions(root: Root, files: int) -> None:
    query = f'runuser -u postgres -- psql -XAt -d documents -c "{COMPLETIONS}"'
    for _ in range(50):
        started, ended = root.run(query).strip().split("|")
        if int(started) == int(ended) == files > 0:
            return
        time.sleep(0.2)
    sys.exit(f"Of {files} downloads, {started} have an entry and {ended} a completion.")


def main() -> None:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with all that follows a step
    require_tools()
    place = Path(tempfile.mkdtemp(prefix="drill-"))
    place.chmod(0o755)
    machine = place / "machine"
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, place)
        with step("a bare Debian"):
            prepare(machine)
        root = Root(machine)
        stack.callback(root.close)
        with (place / "s3.log").open("w") as log:
            subprocess.Popen(root.command(STORE, machine), stdout=log, stderr=log)
        follow(root)
        units = ("completions-rotated", "housekeeping", "check-counts", "check-files", "verify")
        for unit in units:
            with step(f"the timer's unit documents-api-{unit}"):
                root.run(f"systemctl start documents-api-{unit}")


if __name__ == "__main__":
    main()
