"""`make drill`: follows docs/operations.md word by word on a bare Debian that systemd has booted.

With MANAGED=1, a role without a superuser's rights runs deploy/roles.sql, as with a managed
PostgreSQL.

It needs root, Debian's packages in `machine.PACKAGES`, a podman-compose of at least 1.1, and the
networks of Debian and of pip's package index. Trust and pip's variables are this machine's. The
checkout is its last commit.

What it does not prove: a certificate from an authority, the storage's policy, Prometheus, and
several machines.
"""

import argparse
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

from tests.drill import containers
from tests.drill.machine import Machine, alone, bare_debian, require_tools

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parent.parent
FIRST_REQUEST_SECONDS = 600  # since the release was unpacked
# Object storage, which is elsewhere in production: two keys, and later a third.
STORAGE = """[Service]
ExecStart=/usr/local/bin/s3 serve s3 /srv/store --addr=127.0.0.1:9000 --config= \
  --auth-key=first-key,first-secret --auth-key=witness-key,witness-secret \
  --auth-key=second-key,second-secret
[Install]
WantedBy=multi-user.target
"""
# What the guide asks for in words, by the heading and what the block that follows it contains.
VALUES = r"""
mkdir -p /srv/store/documents /srv/store/documents-checkpoints
systemctl enable --now storage
sed -i -e 's/^\(ALLOWED_HOSTS\)=.*/\1=api.example.com/' \
  -e 's|^\(UPGRADE_URL\)=.*|\1=https://www.example.com/plan|' \
  -e 's|^\(S3_ENDPOINT_URL\)=.*|\1=http://127.0.0.1:9000|' \
  -e 's/^\(S3_ACCESS_KEY_ID\)=.*/\1=first-key/' \
  -e 's/^\(S3_SECRET_ACCESS_KEY\)=.*/\1=first-secret/' /etc/documents-api/env
"""
WITNESS = r"""
sed -i 's/^#\(AUDIT_WITNESS_BUCKET=\)/\1/' /etc/documents-api/env
install -m 600 /dev/stdin /etc/documents-api/seal-env <<END
AUDIT_WITNESS_ACCESS_KEY_ID=witness-key
AUDIT_WITNESS_SECRET_ACCESS_KEY=witness-secret
END
"""
SECOND_KEY = r"""
sed -i -e 's/^\(S3_ACCESS_KEY_ID\)=.*/\1=second-key/' \
  -e 's/^\(S3_SECRET_ACCESS_KEY\)=.*/\1=second-secret/' /etc/documents-api/env
"""
# The next release, which is the same but for a file.
NEXT_RELEASE = "tar -rf documents-api.tar -C /etc hostname\n"
BEFORE = {"--self-signed": VALUES, "--seal": WITNESS, "deploy/upgrade /root": NEXT_RELEASE}
AS_POSTGRES = "exec env -C / runuser -u postgres -- psql -X -d postgres"
AS_CUSTOMER = r"""env -C / runuser -u postgres -- psql -X -d postgres <<'END'
SELECT $$CREATE ROLE customer LOGIN CREATEDB CREATEROLE PASSWORD 'customer'$$
WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'customer') \gexec
GRANT pg_read_all_stats TO customer WITH ADMIN OPTION;
END
exec psql -X -d postgresql://customer:customer@127.0.0.1/postgres"""
SHA256 = "sha256=$(sha256sum </root/documents-api.tar | cut -c 1-64)\n"  # what deploy/upgrade takes
SNAPSHOT = "python3 /root/client.py snapshot"
# Units that failed, or were started again by systemd, since their start.
UNWELL = """systemctl --failed --no-legend --plain
systemctl show 'documents-api*' -p Id -p NRestarts | grep -B1 'NRestarts=[^0]' || true"""
WORKER = "$(pgrep -P $(systemctl show -p MainPID --value documents-api@8001) | tail -n 1)"
FREEZE = f"kill -STOP {WORKER}"
FROZEN_SECONDS = 30  # until systemd has replaced it
# Debian's own units, which deploy/link lets systemd start again.
KILLED = r"""
kill -9 "$(cat /run/nginx.pid)" "$(head -n 1 /var/lib/postgresql/*/main/postmaster.pid)"
for _ in $(seq 30); do
  sleep 1
  [ "$(curl -ks -o /dev/null -w '%{http_code}' https://127.0.0.1/readyz)" != 200 ] || exit 0
done
systemctl status nginx 'postgresql@*'
exit 1
"""
# As after a boot, or where it has no room and stops.
WITHOUT_DATABASE = r"""
units="documents-api@8001 documents-api@8002 documents-api-pages documents-api-worker \
  documents-api-housekeeping"
systemctl stop postgresql
systemctl restart $units
[ "$(curl -s -o /dev/null -w '%{http_code}' http://127.0.0.1:8001/readyz)" = 503 ]
systemctl start postgresql
curl -sSf -o /dev/null --retry 30 --retry-delay 1 --retry-all-errors \
  http://127.0.0.1:{8001,8002,8100}/readyz
for _ in $(seq 30); do systemctl is-active --quiet $units && exit; sleep 1; done
exit 1
"""


@contextmanager
def step(name: str) -> Iterator[None]:
    started = time.monotonic()
    print(f"{name:70}", end="", flush=True)
    yield
    print(f"{time.monotonic() - started:6.1f} s", flush=True)


def prepare(folder: Path, *, managed: bool) -> None:
    """What a new machine brings: a bare Debian with systemd, and a release in /root.

    Args:
        managed: the release's deploy/roles works as with a managed PostgreSQL.
    """
    bare_debian(folder, "systemd-sysv", "dbus", "procps")
    (folder / "etc/hosts").write_text("127.0.0.1 localhost api.example.com\n")
    (folder / "etc/hostname").write_text("api\n")
    shutil.copy(HERE / "client.py", folder / "root")
    shutil.copy(CHECKOUT / ".venv/bin/rclone", folder / "usr/local/bin/s3")
    (folder / "etc/systemd/system/storage.service").write_text(STORAGE)
    archive = ["git", "archive", f"--output={folder}/root/documents-api.tar", "HEAD"]
    subprocess.run(archive, cwd=CHECKOUT, check=True)
    if managed:
        roles = folder / "tmp" / "deploy" / "roles"
        roles.parent.mkdir()
        shutil.copy(CHECKOUT / "deploy" / "roles", roles)
        text = roles.read_text()
        assert AS_POSTGRES in text
        roles.write_text(text.replace(AS_POSTGRES, AS_CUSTOMER))
        words = ["tar", "-rf", f"{folder}/root/documents-api.tar", "-C", f"{folder}/tmp"]
        subprocess.run([*words, "deploy/roles"], check=True)


def guide(page: Path = CHECKOUT / "docs/operations.md") -> list[tuple[str, str]]:
    """The guide's blocks of commands, each with the heading above it."""
    text = page.read_text()
    found, heading = [], ""
    for title, block in re.findall(r"^#+ ([^\n]*)$|^```sh\n(.*?)^```$", text, re.M | re.S):
        heading = title or heading
        if block:
            found.append((heading, block))
    return found


def follow(machine: Machine) -> None:
    """Runs the guide, with load while instances restart, and compares what the drill must keep."""
    before, started = "", time.monotonic()
    for heading, block in guide():
        for words, commands in BEFORE.items():
            if words in block:
                machine.run(commands)
        if new_key := heading == "Keys of the object storage":
            before = machine.run(SNAPSHOT)
            machine.run(SECOND_KEY)
        with step(f"{heading}: {block.splitlines()[-1].strip()}"[:69]), ExitStack() as stack:
            whole = "deploy/restart\n" in block and heading != "Passwords of the database"
            if whole or "deploy/upgrade" in block:
                stack.enter_context(load(machine))
            output = machine.run(f"{SHA256}{block}")
        if "deploy/backup" in block:
            before = machine.run(SNAPSHOT)
        if "deploy/restore" in block or new_key:
            with step("  the same responses, byte by byte"):
                assert machine.run(SNAPSHOT) == before
        if "https://" in block:
            print("   ", output.strip().splitlines()[-1][:100])
        if "/api/v1/me" in block:
            seconds = time.monotonic() - started
            print(f"    {seconds:.0f} s from the release to this request")
            assert seconds < FIRST_REQUEST_SECONDS
        if unwell := machine.run(UNWELL).strip():
            sys.exit(f"Units have failed:\n{unwell}")


def disturb(machine: Machine) -> None:
    """What systemd is there for: checks of each night, a frozen worker, an order of starts."""
    with step("the checks of each night"):
        machine.run("systemctl start documents-api-nightly")
    with step("  a frozen worker is replaced"):
        machine.run(f"{FREEZE}; sleep {FROZEN_SECONDS}")
        machine.run("curl -sSf -m 5 -o /dev/null http://127.0.0.1:8001/readyz")
    with step("  nginx and PostgreSQL are killed, and serve again"):
        machine.run(KILLED)
    with step("  units start without PostgreSQL, and serve when it is back"):
        machine.run(WITHOUT_DATABASE)


@contextmanager
def load(machine: Machine) -> Iterator[None]:
    """Reads the list meanwhile; no request may fail."""
    running = machine.folder / "root/running"
    running.touch()
    words = machine.command(["python3", "/root/client.py", "load", "/root/running"])
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


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--managed", action="store_true")
    managed = parser.parse_args().managed
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # with all that follows a step
    require_tools()
    with alone(), ExitStack() as stack:
        place = Path(tempfile.mkdtemp(prefix="drill-"))
        stack.callback(shutil.rmtree, place)
        with step("a bare Debian"):
            prepare(place / "machine", managed=managed)
        with step("it boots"):
            machine = Machine(place / "machine")
            stack.callback(machine.close)
        follow(machine)
        disturb(machine)
        with step("deploy/compose.yaml"):
            containers.main(place / "containers")


if __name__ == "__main__":
    main()
