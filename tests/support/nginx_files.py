"""nginx with the files in deploy/, on loopback ports, for the tests and the benchmark."""

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from tests.support.proxy import HOST

PROGRAM = shutil.which("nginx") or "/usr/sbin/nginx"  # not on the PATH of all Debian users
DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"
FILES = ("nginx.conf", "upstreams.conf", "downloads.conf", "errors.conf", "site.conf")


def temp_paths(folder: Path) -> str:
    """Directives for folders that nginx makes at its start, below /var/lib, where only root may."""
    return " ".join(f"{name}_temp_path {folder}/{name};" for name in ("fastcgi", "scgi", "uwsgi"))


def install(
    folder: Path,
    port: int,
    instances: Sequence[int],
    storage: str,
    *,
    pages: int,
    http_port: int,
    tls: bool = False,
) -> list[str]:
    """Writes the files into the folder, with its paths and these ports; returns nginx's command.

    Args:
        port: of what production serves over HTTPS; plain HTTP unless `tls`.
        instances: the ports of the API, one or two.
        pages: the port of the process of pages.
        storage: the host and port of object storage.
        http_port: the port that production only redirects from.
        tls: use the certificate in the folder's `tls/`.
    """
    for name in ("logs", "temp"):
        (folder / name).mkdir(exist_ok=True)
    changes = {
        r"^user .*;\n": "user root;\n" if os.geteuid() == 0 else "",  # who can read the folder
        r"(?=^ *proxy_temp_path )": f"{temp_paths(folder / 'temp')}\n",
        "/var/log/documents-api": str(folder / "logs"),
        "/var/lib/nginx": str(folder / "temp"),
        "/run/nginx.pid": str(folder / "nginx.pid"),
        "api\\.example\\.com": "localhost",
        "/etc/documents-api/tls": str(folder / "tls"),
        r"^ *listen \[::\].*\n": "",
        "listen 80 ": f"listen {HOST}:{http_port} ",
        "listen 443 ": f"listen {HOST}:{port} ",
        "127.0.0.1:9000": storage,
        "/etc/documents-api/security.txt": str(DEPLOY / "security.txt"),
        "127.0.0.1:8001": f"{HOST}:{instances[0]}",
        "127.0.0.1:8100": f"{HOST}:{pages}",
        r".*127.0.0.1:8002(.*\n)": rf"    server {HOST}:{instances[-1]}\1" if instances[1:] else "",
    }
    if not tls:
        changes |= {"ssl http2 ": "", "^ *ssl_cert.*\n": ""}
    for name in FILES:
        text = (DEPLOY / name).read_text()
        for pattern, replacement in changes.items():
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        (folder / name).write_text(text)
    return [PROGRAM, "-p", f"{folder}/", "-c", str(folder / "nginx.conf"), "-g", "daemon off;"]
