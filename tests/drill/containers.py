"""deploy/compose.yaml with podman, in a network of its own and without a registry.

The images of the service and of Redis are built as they are; those of nginx and PostgreSQL are
stand-ins with Debian's packages.
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.drill.machine import bare_debian, passed_on

CHECKOUT = Path(__file__).resolve().parent.parent.parent
DEBIAN = "FROM docker.io/library/debian:12-slim\n"
APT = "RUN apt-get update -qq && apt-get install -y -qq --no-install-recommends"
# As the official image does: it makes the database once, and runs the files of initdb.d.
ENTRY = r"""#!/bin/sh
set -e
PATH=/usr/lib/postgresql/15/bin:$PATH data=/var/lib/postgresql/data
chown postgres $data
if [ ! -e $data/PG_VERSION ]; then
  runuser -u postgres -- initdb -D $data >/dev/null
  echo 'host all all all scram-sha-256' >>$data/pg_hba.conf
  runuser -u postgres -- pg_ctl -D $data -w -o "-h ''" start >/dev/null
  for file in /docker-entrypoint-initdb.d/*.sql; do
    runuser -u postgres -- psql -X -v ON_ERROR_STOP=1 -d postgres <"$file"
  done
  runuser -u postgres -- pg_ctl -D $data -w stop >/dev/null
fi
exec setpriv --reuid postgres --regid postgres --clear-groups postgres -D $data -h '*'
"""
IMAGES = {
    "nginx:1.30.7": f"{DEBIAN}{APT} ca-certificates nginx-light",
    "postgres:15.20": f'{DEBIAN}{APT} postgresql\nCOPY entry /\nCMD ["sh", "/entry"]',
}
VALUES = {
    "HOST": "api.example.com",
    "UPGRADE_URL": "https://www.example.com/plan",
    "SECRET_KEY": "only-for-the-drill-0123456789-abcdefghijklmnopqrstuvwxyz",
    "S3_ENDPOINT_URL": "http://10.89.77.1:9000",  # this machine, as the containers see it
    "S3_BUCKET": "documents",
    "S3_ACCESS_KEY_ID": "key",
    "S3_SECRET_ACCESS_KEY": "secret",
} | {f"{name}_PASSWORD": f"{name}-password" for name in ("OWNER", "SERVING", "POSTGRES", "REDIS")}
USE = r"""
set -eu
mount -t tmpfs none /run # what podman keeps there of others' networks
ip link set lo up
compose() { podman-compose -f deploy/compose.yaml "$@"; }
compose up -d postgres redis
"$RCLONE" serve s3 "$STORE" --addr=:9000 --config= --auth-key=key,secret 2>/dev/null &
for _ in $(seq 10); do # until PostgreSQL is up
  compose --profile by-hand run --rm migrate && break
  sleep 2
done
compose up -d
get() {
  curl -sS -m 5 -o /dev/null -w '%{http_code}' --cacert deploy/tls/certificate.pem \
    --resolve api.example.com:443:127.0.0.1 "https://api.example.com$1" || true
}
serves() {
  for _ in $(seq 60); do
    [ "$(get /api/v1/me)$(get /readyz)$(get /admin/login/)" != 401200200 ] || return 0
    sleep 1
  done
  compose logs >&2
  return 1
}
serves
podman restart documents-api_nginx_1 # which must not take the others with it
serves
podman restart documents-api_api_1
serves
"""
# No more than this machine's root may have, which is less than podman's default.
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
CONTAINERS = f"""[containers]
default_ulimits = ["nofile={FILES}:{FILES}", "nproc=4096:4096"]
log_driver = "k8s-file"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""


def run(words: list[str], folder: Path, **variables: str) -> None:
    """Runs a command with podman's files in the folder.

    Raises:
        SystemExit: it failed; the message has the output.
    """
    own = {
        "CONTAINERS_CONF": str(folder / "containers.conf"),
        "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
    }
    with tempfile.TemporaryFile("w+") as output:  # containers would keep a pipe open
        done = subprocess.run(
            ["unshare", "--mount", *words],  # podman would leave a mount in the folder
            cwd=folder / "release",
            env=os.environ | own | variables,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        if done.returncode:
            output.seek(0)
            sys.exit(f"Failed: {words}\n{output.read()[-5000:]}")


def prepare(folder: Path) -> None:
    """Podman's configuration, a release with the operator's values, and the images."""
    release, store = folder / "release", folder / "store"
    for each in (release, store / "documents"):
        each.mkdir(parents=True)
    networks = f'[network]\nnetwork_config_dir = "{folder}/networks"\n'
    (folder / "containers.conf").write_text(f"{CONTAINERS}{networks}")
    (folder / "storage.conf").write_text(
        f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/root"\nrunroot = "{folder}/run"\n'
    )
    subprocess.run(
        ["sh", "-c", f"git archive HEAD | tar -x -C {release}"], cwd=CHECKOUT, check=True
    )
    (release / "deploy" / ".env").write_text("".join(f"{k}={v}\n" for k, v in VALUES.items()))
    site = release / "deploy" / "site.conf"
    text = site.read_text().replace("127.0.0.1:9000", "10.89.77.1:9000")
    # This machine's address, as nginx may see it there.
    site.write_text(text.replace("127.0.0.1 yes;", "127.0.0.1 yes; 10.89.77.0/24 yes;"))
    tls = release / "deploy" / "tls"
    tls.mkdir()
    words = "req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=api.example.com -addext"
    names = ["subjectAltName=DNS:api.example.com"]
    files = ["-keyout", str(tls / "key.pem"), "-out", str(tls / "certificate.pem")]
    run(["openssl", *words.split(), *names, *files], folder)

    debian = folder / "debian"
    bare_debian(debian)
    subprocess.run(["tar", "-C", debian, "-cf", folder / "debian.tar", "."], check=True)
    changes = [f"--change=ENV {each}" for each in passed_on()]
    base = "docker.io/library/debian:12-slim"
    run(["podman", "import", *changes, str(folder / "debian.tar"), base], folder)
    build = ["podman", "build", "--isolation=chroot", "--network=host", "--format=docker"]
    build += ["--pull-never", "--layers=false"]  # on some disks, each layer is a copy
    for file, name in (("", "documents-api"), ("redis.", "documents-api-redis")):
        run([*build, "-f", f"deploy/{file}Containerfile", "-t", f"localhost/{name}", "."], folder)
    for name, text in IMAGES.items():
        context = folder / name.partition(":")[0]
        context.mkdir()
        (context / "entry").write_text(ENTRY)
        (context / "Containerfile").write_text(text)
        run([*build, "-t", f"docker.io/library/{name}", str(context)], folder)


def main(folder: Path) -> None:
    prepare(folder)
    rclone = str(CHECKOUT / ".venv/bin/rclone")
    # When the shell ends, so does all that it has started and mounted.
    words = "unshare --net --pid --fork --mount-proc --kill-child bash -c"
    run([*words.split(), USE], folder, STORE=str(folder / "store"), RCLONE=rclone)
