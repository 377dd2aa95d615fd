"""`make drill`: follows docs/operations.md word by word in a bare Debian.

It needs root, debootstrap, iproute2, slirp4netns, and the networks of Debian and of pip's package
index. The root's certificates and pip's variables are this machine's. The checkout is its last
commit. `python -m tests.drill --kills` kills deploy/install at random moments instead.

What it does not prove: systemd itself (tests/drill/systemctl replaces its command), timers, a
certificate from an authority, the storage's policy (a trial's storage has none), PgBouncer,
Prometheus, and several machines.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil

from tests.drill.root import Root, require_tools

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
# What the guide asks for in words: a second key, which becomes the service's.
EDITOR = r"""
sed -i "s/^RCLONE_AUTH_KEY='/&\"SECOND-KEY,SECOND-SECRET\",/" /etc/documents-api-storage
systemctl restart documents-api-storage
sed -i -e 's/^\(S3_ACCESS_KEY_ID\)=.*/\1=SECOND-KEY/' \
  -e 's/^\(S3_SECRET_ACCESS_KEY\)=.*/\1=SECOND-SECRET/' /etc/documents-api/env
"""
KILLS = 20
SECRETS = "/etc/documents-api/*env /etc/documents-api-storage /etc/documents-api/tls-*/key.pem"
FIRST_REQUEST_SECONDS = 600  # since the release was unpacked
SHA256 = "sha256=$(sha256sum </root/documents-api.tar | cut -c 1-64)\n"  # what deploy/upgrade takes
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
    archive = ["git", "archive", f"--output={folder}/root/documents-api.tar", "HEAD"]
    subprocess.run(archive, cwd=CHECKOUT, check=True)


def guide(page: Path = CHECKOUT / "docs/operations.md") -> list[tuple[str, str]]:
    """The guide's blocks of commands, each with the heading above it."""
    text = page.read_text()
    found, heading = [], ""
    for title, block in re.findall(r"^#+ ([^\n]*)$|^```sh\n(.*?)^```$", text, re.M | re.S):
        heading = title or heading
        if block:
            found.append((heading, block))
    return found


def follow(root: Root) -> None:
    """Runs the guide, with load while instances restart, and compares what the drill must keep."""
    before, started = "", time.monotonic()
    for heading, block in guide():
        new_store_key = heading == "Keys of the object storage"
        if new_store_key:
            before = root.run(SNAPSHOT)
            root.run(EDITOR)
        with step(f"{heading}: {block.splitlines()[-1].strip()}"[:69]), ExitStack() as stack:
            if "deploy/restart\n" in block or "deploy/upgrade" in block:
                stack.enter_context(load(root))
            output = root.run(f"{SHA256}{block}")
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
        if "/api/v1/me" in block:
            seconds = time.monotonic() - started
            print(f"    {seconds:.0f} s from the release to this request")
            assert seconds < FIRST_REQUEST_SECONDS


def follow_with_kills(root: Root) -> None:
    """Kills the installer again and again, and lets it end then: keys stay, and requests work."""
    install, request = (block for _, block in guide()[:2])
    unpack, _, command = install.partition("/opt/documents-api-1/deploy/install")
    command = f"exec /opt/documents-api-1/deploy/install{command}"
    root.run(unpack)
    kept: dict[str, str] = {}
    for number in range(1, KILLS + 1):
        seconds = random.uniform(0.5, 14)  # noqa: S311
        with step(f"killed after {seconds:.1f} s{', with all of its commands' * (number % 2)}"):
            kill_after(seconds, root.command(["bash", "-c", command], root.folder), number % 2 == 1)
        kept = compare(root, kept)
    for _ in range(2):
        with step("to the end"):
            root.run(command)
        kept = compare(root, kept)
    print(root.run(request))


def kill_after(seconds: float, words: list[str], with_commands: bool) -> None:
    """Kills the last of these processes; `with_commands`: all of their session, as a power cut."""
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    with suppress(subprocess.TimeoutExpired):
        process.wait(seconds)
        return
    session = [each for each in psutil.process_iter() if os.getsid(each.pid) == process.pid]
    for each in session if with_commands else psutil.Process(process.pid).children():
        with suppress(psutil.NoSuchProcess):
            each.kill()
    process.wait()


def compare(root: Root, kept: dict[str, str]) -> dict[str, str]:
    """The digests of the files with secrets; those of before must be among them, for root only."""
    modes = root.run(f"stat --format %U:%a {SECRETS} 2>/dev/null || true").split()
    assert set(modes) <= {"root:600"}
    lines = root.run(f"sha256sum {SECRETS} 2>/dev/null || true").splitlines()
    digests = {name: digest for digest, name in (line.split() for line in lines)}
    changed = [name for name in kept if digests.get(name) != kept[name]]
    if changed:
        sys.exit(f"Not the same as before the kill: {', '.join(changed)}")
    return digests


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
        if sys.argv[1:] == ["--kills"]:
            follow_with_kills(root)
            return
        follow(root)
        units = ("completions-rotated", "housekeeping", "check-counts", "check-files", "verify")
        for unit in units:
            with step(f"the timer's unit documents-api-{unit}"):
                root.run(f"systemctl start documents-api-{unit}")
    subprocess.run([sys.executable, "-m", "tests.drill.upgrade"], cwd=CHECKOUT, check=True)


if __name__ == "__main__":
    main()
