"""This machine's facts: disks, and for the doctor alone what `deploy/` has put on it."""

import contextlib
import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from config.console.system import Fact, Part

DEPLOY = settings.BASE_DIR / "deploy"
# Folders that grow, or that hold the release. Those that are elsewhere are left out.
FOLDERS = ("var/log/documents-api", "var/lib/documents-api", "var/lib/postgresql", "var/lib/redis")
FULL, LOW = 256, 1024  # MiB that are free
NGINX = ("nginx.conf", "downloads.conf", "errors.conf", "listen-http.conf", "listen-https.conf")
CERTIFICATE_DAYS = 14
SECONDS = 2.0  # for nginx' and systemd's response


def read_disks(root: Path = Path("/")) -> list[Fact]:
    """The space that is free, once for each disk."""
    disks: dict[int, list[Path]] = {}
    for folder in (settings.BASE_DIR, *(root / name for name in FOLDERS)):
        with contextlib.suppress(OSError):
            disks.setdefault(folder.stat().st_dev, []).append(folder)
    facts = []
    for folders in disks.values():
        free = shutil.disk_usage(folders[0]).free >> 20
        facts.append(
            Fact(
                ", ".join(map(str, folders)),
                f"{free:,} MiB free",
                "bad" if free < FULL else "warn" if free < LOW else "ok",
                "Make space. Without it, PostgreSQL stops, and nginx loses how downloads ended",
            )
        )
    return facts


def doctor_parts(root: Path, address: tuple[str, int]) -> list[Part]:
    """What only the doctor reads: below `root`, and the certificate that `address` shows."""
    parts = [Part("Disk", lambda: read_disks(root))]
    if (root / "etc/nginx/upstreams.conf").exists():
        parts.append(Part("nginx", lambda: list(read_nginx(root / "etc/nginx"))))
    units = root / "etc/systemd/system"
    if any(units.glob("documents-api*")):
        parts.append(Part("Units", lambda: list(read_units(units))))
    if Path("/run/systemd/system").exists():
        parts.append(Part("systemd", lambda: list(read_systemd())))
    # pathlib would fail on a folder that only root may read; the installer's may be read.
    if os.path.exists(root / "etc/documents-api/tls"):  # noqa: PTH110
        remedy = "Look at: systemctl status nginx"
        parts.append(Part("Certificate", lambda: read_certificate(address), remedy=remedy))
    return parts


def _lines(file: Path, *without: str) -> list[str]:
    """A file's lines without comments, and without those that begin with certain words."""
    lines = (line.partition("#")[0].split() for line in file.read_text().splitlines())
    return [" ".join(words) for words in lines if words and words[0] not in without]


def _compare(ours: Path, theirs: Path, remedy: str, *without: str) -> Fact:
    try:
        same = _lines(ours, *without) == _lines(theirs, *without)
        value = "as in this release" if same else "is not as in this release"
    except FileNotFoundError:
        same, value = False, "is missing"
    return Fact(theirs.name, value, "ok" if same else "warn", remedy.format(ours, theirs))


def read_nginx(folder: Path) -> Iterator[Fact]:
    """Whether nginx has this release's configuration; names and addresses may be others."""
    remedy = "Compare: diff {} {}; copy it, then: nginx -t && systemctl reload nginx"
    for name in NGINX:
        own = ("server_name", "ssl_certificate", "ssl_certificate_key")
        yield _compare(DEPLOY / name, folder / name, remedy, *own)
    name = "upstreams.conf"
    yield _compare(DEPLOY / name, folder / name, remedy, "server", "keepalive", "default")


def read_units(folder: Path) -> Iterator[Fact]:
    """Whether the units are this release's. Changes belong in files of `systemctl edit`."""
    remedy = "Compare: diff {} {}; copy it, then: systemctl daemon-reload"
    facts = [_compare(unit, folder / unit.name, remedy) for unit in (DEPLOY / "systemd").iterdir()]
    differing = [fact for fact in facts if fact.is_problem]
    yield from differing or [Fact("Files", "as in this release", "ok")]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)  # noqa: S603
    return done.stdout


def read_systemd() -> Iterator[Fact]:
    """Units that have failed, and the clock."""
    listed = _run("systemctl", "list-units", "--all", "--plain", "--no-legend", "documents-api*")
    failed = [line.split()[0] for line in listed.splitlines() if line.split()[2] == "failed"]
    remedy = f"Look at: journalctl -u {failed[0]}" if failed else ""
    yield Fact("Failed units", ", ".join(failed) or "none", "bad" if failed else "ok", remedy)
    synchronised = _run("timedatectl", "show", "--property", "NTPSynchronized", "--value").strip()
    yield Fact(
        "Clock",
        "synchronised" if synchronised == "yes" else "is not synchronised",
        "ok" if synchronised == "yes" else "warn",
        "Install a client of NTP, such as systemd-timesyncd",
    )


def read_certificate(address: tuple[str, int]) -> list[Fact]:
    """The certificate that clients of nginx see, whether they accept it, and when it ends."""
    name = settings.ALLOWED_HOSTS[0].lstrip(".")
    context = ssl.create_default_context()
    trusted = Fact("Chain", "complete", "ok")
    try:
        ends = _handshake(address, name, context)
    except ssl.SSLCertVerificationError as exc:
        # Trusted as it is, it shows whether anything else is wrong with it.
        trusted = Fact("Chain", exc.verify_message, "warn", "Clients do not accept it: replace it")
        pem = ssl.get_server_certificate(address, timeout=SECONDS)
        context.load_verify_locations(cadata=pem)
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        try:
            ends = _handshake(address, name, context)
        except ssl.SSLCertVerificationError as worse:
            return [Fact(name, worse.verify_message, "bad", f"Renew the certificate of {name}")]
    days = (ends - datetime.now(UTC)).days
    return [
        trusted,
        Fact(
            name,
            f"ends in {days} days, on {ends:%Y-%m-%d}",
            "warn" if days < CERTIFICATE_DAYS else "ok",
            "Renew it; then: systemctl reload nginx",
        ),
    ]


def _handshake(address: tuple[str, int], name: str, context: ssl.SSLContext) -> datetime:
    """When the certificate ends. Raises an SSLCertVerificationError if it is not accepted."""
    with (
        socket.create_connection(address, SECONDS) as plain,
        context.wrap_socket(plain, server_hostname=name) as connection,
    ):
        certificate = connection.getpeercert() or {}
        return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(certificate["notAfter"])), UTC)
