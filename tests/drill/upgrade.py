"""`python -m tests.drill.upgrade`: deploy/upgrade from both former releases and back, under load.

In a bare Debian each. The last release is installed by its own guide; 1.0.0 had none, so by a few
lines of this file.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.drill.__main__ import CHECKOUT, HERE, prepare, step
from tests.drill.root import Root, require_tools
from tests.support import releases

STORE = ["/usr/local/bin/s3", "serve", "s3", "/srv/store", "--addr=127.0.0.1:9000"]
STORE += ["--auth-key=CHANGE-ME,CHANGE-ME"]  # as in deploy/env.example
ENTRIES = """runuser -u postgres -- psql -XAt -d documents -c "SELECT count(*) FROM audit_auditentry
    WHERE action = 'document.downloaded'\""""
# As deploy/upgrade names the folder of a tar.
RELEASE = "release=/opt/documents-api-$(sha256sum /root/documents-api.tar | cut -c 1-8)"
BUILD = f"""{RELEASE}; mkdir $release; tar -xf /root/documents-api.tar -C $release
$release/deploy/build.sh; touch $release/.venv/complete"""  # the rest has no network
BUILD_LAST = """mkdir /opt/documents-api-last
tar -xf /root/last.tar -C /opt/documents-api-last
/opt/documents-api-last/deploy/build.sh"""
REFUSED = f"""{RELEASE}
PGAPPNAME=pg_dump runuser -u postgres -- psql -X -d documents -c 'SELECT pg_sleep(15)' >/dev/null &
sleep 1
output=$($release/deploy/upgrade $release --no-backup 2>&1) && exit 1
grep 'pg_terminate_backend: .* pg_dump' <<<"$output"
grep 'Stopped. Nothing is changed yet.' <<<"$output"
wait"""
UPGRADE = f"""{RELEASE}
grep -q '^UPGRADE_URL=' /etc/documents-api/env ||
  echo UPGRADE_URL=https://www.example.com/plan >>/etc/documents-api/env
sha256=$(sha256sum </root/documents-api.tar | cut -c 1-64)
$release/deploy/upgrade /root/documents-api.tar $sha256 --backup /var/backups/documents-api"""
# 1.0.0 has no units and no guide. Its nginx.conf leaves folders and TLS to the operator.
PACKAGES = """apt-get update -qq
LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \\
  ca-certificates curl logrotate nginx-light openssl postgresql python3-venv rclone redis-server
useradd --system --user-group --home-dir /opt/documents-api documents-api
mkdir /opt/documents-api-1
tar -xf /root/documents-api.tar -C /opt/documents-api-1
ln -s documents-api-1 /opt/documents-api
cd /opt/documents-api
python3 -m venv .venv
.venv/bin/python -m pip install --quiet -r requirements.txt
"""
SERVICE = r"""
cd /opt/documents-api
install -d -m 700 /etc/documents-api /etc/documents-api/tls
cat >/etc/documents-api/env <<'END'
SECRET_KEY=only-for-the-drill-0123456789-abcdefghijklmnopqrstuvwxyz
ALLOWED_HOSTS=api.example.com
TRUSTED_PROXIES=1
NGINX_HANDOFF=yes
GRANIAN_BLOCKING_THREADS=4
DATABASE_URL=postgresql://documents:only-for-the-drill@127.0.0.1:5432/documents
REDIS_URL=redis://127.0.0.1:6379/0
S3_ENDPOINT_URL=http://127.0.0.1:9000
S3_BUCKET=documents
S3_ACCESS_KEY_ID=CHANGE-ME
S3_SECRET_ACCESS_KEY=CHANGE-ME
END
cat >/etc/systemd/system/documents-api@.service <<'END'
[Service]
Type=exec
ExecStart=/opt/documents-api/.venv/bin/granian --interface wsgi --port %i config.wsgi:application
User=documents-api
Group=documents-api
WorkingDirectory=/opt/documents-api
EnvironmentFile=/etc/documents-api/env
TimeoutStopSec=40
KillMode=mixed
END
sed -i 's/^port = .*/port = 5432/' /etc/postgresql/*/main/postgresql.conf
systemctl start postgresql redis-server
runuser -u postgres -- psql -c "CREATE ROLE documents LOGIN PASSWORD 'only-for-the-drill'"
runuser -u postgres -- createdb --owner documents documents
mkdir /srv/store/documents
run() { setpriv --reuid documents-api --regid documents-api --clear-groups \
  env $(cat /etc/documents-api/env) .venv/bin/python manage.py "$@"; }
run migrate
run create_workspace Acme --plan PRO --admin admin@example.com >/root/workspace
workspace=$(grep -oE '[0-9a-f-]{36}' /root/workspace | head -n 1)
run issue_key "$workspace" drill --by admin@example.com | grep -oE 'dtd_[A-Za-z0-9]+' >/root/key
run import_documents "$workspace" documents/demo/data/acme.jsonl
systemctl start documents-api@8001 documents-api@8002
openssl req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=api.example.com \
  -addext subjectAltName=DNS:api.example.com -out /etc/documents-api/tls/certificate.pem \
  -keyout /etc/documents-api/tls/key.pem
mkdir -p /usr/share/nginx/logs /usr/share/nginx/temp
cp deploy/nginx.conf /etc/nginx
sed -i 's|^pid .*|pid /run/nginx.pid;|' /etc/nginx/nginx.conf
sed 's|127.0.0.1:8000;|127.0.0.1:8001; server 127.0.0.1:8002;|' deploy/upstreams.conf \
  >/etc/nginx/upstreams.conf
echo 'listen 443 ssl; ssl_certificate /etc/documents-api/tls/certificate.pem;
  ssl_certificate_key /etc/documents-api/tls/key.pem;' >/etc/nginx/listen.conf
nginx -t
systemctl restart nginx
"""
INSTALL_RELEASE_1 = [PACKAGES, SERVICE]


def blocks(page: str, heading: str) -> list[str]:
    """The commands below a page's heading of the second level."""
    part = page.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(r"^```sh\n(.*?)^```$", part, re.M | re.S)


def guide_of(commit: str) -> list[str]:
    words = ["git", "show", f"{commit}:docs/operations.md"]
    page = subprocess.run(words, cwd=CHECKOUT, check=True, capture_output=True, text=True).stdout
    return blocks(page, "From a bare Debian to a served request")


@contextmanager
def load(root: Root) -> Iterator[None]:
    """Requests meanwhile: none may fail, and each file has one entry in the audit log."""
    running = root.folder / "root/running"
    running.touch()
    before = int(root.run(ENTRIES))
    words = root.command(["python3", "/root/upgrade_load.py", "/root/running"], root.folder)
    client = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        yield
    finally:
        running.unlink()
        output, _ = client.communicate(timeout=60)
    *failed, downloads = output.splitlines()
    entries = int(root.run(ENTRIES)) - before
    print(f"({downloads} of each request, {entries} downloads in the audit log)", end="")
    if failed or client.returncode or entries != int(downloads):
        sys.exit("\n".join(["", *failed, downloads]))


def drill(root: Root, commit: str, install: list[str], upgrade: list[str]) -> None:
    with step(f"{commit[:7]}: installing it"):
        releases.archive(commit, root.folder / "root/documents-api.tar")
        shutil.copy(HERE / "upgrade_load.py", root.folder / "root")
        for block in install:
            root.run(block)
    with step("  building the release"):
        archive = ["git", "archive", f"--output={root.folder}/root/documents-api.tar", "HEAD"]
        subprocess.run(archive, cwd=CHECKOUT, check=True)
        root.run(BUILD)
        if commit == releases.LAST_RELEASE:
            root.run(REFUSED)
        else:
            releases.archive(releases.LAST_RELEASE, root.folder / "root/last.tar")
            root.run(BUILD_LAST)
    with step("  upgrading it"), load(root):
        for block in upgrade:
            root.run(block)
    with step("  going back"), load(root):
        root.run(f"{RELEASE}; $release/deploy/upgrade --back")
    with step("  upgrading it again"), load(root):
        root.run(f"{RELEASE}; $release/deploy/upgrade $release --no-backup")


def main() -> None:
    require_tools()
    place = Path(tempfile.mkdtemp(prefix="drill-upgrade-"))
    place.chmod(0o755)
    page = (CHECKOUT / "docs/upgrading.md").read_text()
    plans = {
        releases.LAST_RELEASE: (guide_of(releases.LAST_RELEASE), [UPGRADE]),
        releases.RELEASE_1: (INSTALL_RELEASE_1, blocks(page, "From 1.0.0")),
    }
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, place)
        with step("a bare Debian"):
            prepare(place / "bare")
            shutil.copy(CHECKOUT / ".venv/bin/rclone", place / "bare/usr/local/bin/s3")
            (place / "bare/srv/store").mkdir(exist_ok=True)
        for commit, (install, upgrade) in plans.items():
            if commit[:7] not in sys.argv[1:] and sys.argv[1:]:
                continue
            folder = place / commit[:7]
            subprocess.run(["cp", "-a", place / "bare", folder], check=True)
            with ExitStack() as machine:
                root = Root(folder)
                machine.callback(root.close)
                with (place / "s3.log").open("w") as log:
                    subprocess.Popen(root.command(STORE, folder), stdout=log, stderr=log)
                drill(root, commit, install, upgrade)


if __name__ == "__main__":
    main()
