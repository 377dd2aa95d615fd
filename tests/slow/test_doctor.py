"""`manage.py doctor`: it names each planted fault and what to do, and is satisfied afterwards."""

import contextlib
import os
import re
import shutil
import ssl
import subprocess
import sys
import threading
import time
from collections import ChainMap
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from socket import create_server

import psycopg
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.utils import timezone

from audit.models import Action, AuditEntry
from config.console.system import parts
from config.management.commands import doctor
from config.runtime.postgresql import sessions
from tests.config.test_checks import PRODUCTION
from tests.support import seals, server
from tests.support.database import backdated, execute, locked
from tests.support.proxy import HOST, Proxy
from tests.support.redis_server import RedisServer
from tests.support.server import ROOT, eventually, serving_environment

HOUR = timedelta(hours=1)


@dataclass
class Installation:
    """What the doctor looks at.

    Attributes:
        root: has etc and var.
        environment: its variables.
        store: the proxy in front of object storage.
    """

    root: Path
    redis: RedisServer
    store: Proxy
    environment: dict[str, str]
    options: list[str] = field(default_factory=list)

    def doctor(self) -> tuple[int, list[str]]:
        """The exit status, and the lines with ✗ or !."""
        done = subprocess.run(
            [sys.executable, "manage.py", "doctor", "-v", "0", "--root", self.root, *self.options],
            cwd=ROOT,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert not done.stderr
        *lines, summary = done.stdout.splitlines()
        assert re.fullmatch(r"Problems: \d+, warnings: \d+", summary)
        return done.returncode, lines


@pytest.fixture
def installation(as_owner: None, transactional_db: None, tmp_path: Path) -> Iterator[Installation]:
    root = tmp_path / "root"
    for folder in ("etc/nginx", "etc/systemd", "var/log/documents-api"):
        (root / folder).mkdir(parents=True)
    for file in (ROOT / "deploy").glob("*.conf"):
        shutil.copy(file, root / "etc/nginx")
    listen = root / "etc/nginx/listen-http.conf"
    listen.write_text(listen.read_text().replace("api.example.com", "documents.example"))
    shutil.copytree(ROOT / "deploy/systemd", root / "etc/systemd/system")
    backdated([AuditEntry(action=Action.BACKUP_MADE, created_at=timezone.now())])
    seals.seal()
    seals.verified()
    seals.seal()
    with ExitStack() as stopping:
        redis = RedisServer(tmp_path / "redis")
        stopping.callback(redis.kill)
        store = Proxy(os.environ["S3_ENDPOINT_URL"])
        stopping.callback(store.stop)
        environment = {
            **serving_environment(),
            **PRODUCTION,
            "DATABASE_URL": server.test_database_url(),
            "REDIS_URL": redis.url,
            "S3_ENDPOINT_URL": store.url,
            "AUDIT_WITNESS_BUCKET": os.environ["S3_BUCKET"],
        }
        yield Installation(root, redis, store, environment)


@contextlib.contextmanager
def done_and_undone(there: Callable[[], object], back: Callable[[], object]) -> Iterator[None]:
    there()
    try:
        yield
    finally:
        back()


def sql(there: str, back: str) -> AbstractContextManager[None]:
    return done_and_undone(lambda: execute(there), lambda: execute(back))


def variable(name: str, value: str) -> Callable[[Installation], AbstractContextManager[None]]:
    def plant(at: Installation) -> AbstractContextManager[None]:
        former = at.environment.get(name)
        return done_and_undone(
            lambda: at.environment.update({name: value}),
            lambda: at.environment.update({name: former}) if former else at.environment.pop(name),
        )

    return plant


def role_compiles(at: Installation) -> AbstractContextManager[None]:
    """In this database only: other tests share the role."""

    def alter(change: str) -> None:
        with psycopg.connect(at.environment["DATABASE_URL"], autocommit=True) as serving:
            name = serving.info.dbname
            serving.execute(f"ALTER ROLE documents IN DATABASE {name} {change}".encode())

    return done_and_undone(lambda: alter("SET jit = on"), lambda: alter("RESET jit"))


@contextlib.contextmanager
def table_is_locked(at: Installation) -> Iterator[None]:
    with locked("documents_document"):
        time.sleep(sessions.BLOCKED_SECONDS)
        yield


def full(at: Installation) -> AbstractContextManager[None]:
    def limit(size: int) -> None:
        at.redis.call("CONFIG", "SET", "maxmemory", size)

    return done_and_undone(lambda: limit(1), lambda: limit(0))


def replica(at: Installation) -> AbstractContextManager[None]:
    return done_and_undone(
        lambda: at.redis.call("REPLICAOF", HOST, at.redis.port),
        lambda: at.redis.call("REPLICAOF", "NO", "ONE"),
    )


def silent_store(at: Installation) -> AbstractContextManager[None]:
    return done_and_undone(at.store.silence, at.store.restore)


def store_in_the_past(at: Installation) -> AbstractContextManager[None]:
    def alter(block: bytes) -> bytes:
        then = f"Date: {datetime.now(UTC) - HOUR:%a, %d %b %Y %H:%M:%S} GMT".encode()
        return re.sub(rb"Date: [^\r]+", then, block, count=1)

    return done_and_undone(lambda: setattr(at.store, "alter", alter), at.store.restore)


@contextlib.contextmanager
def full_disk(at: Installation) -> Iterator[None]:
    folder = at.root / "var/log/documents-api"
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(folder)]
    if subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root can make a small disk")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def changed(name: str) -> Callable[[Installation], AbstractContextManager[None]]:
    def plant(at: Installation) -> AbstractContextManager[None]:
        file = at.root / name
        text = file.read_text()
        return done_and_undone(
            lambda: file.write_text(text.replace("server_tokens off;", "").replace("User=", "#")),
            lambda: file.write_text(text),
        )

    return plant


@contextlib.contextmanager
def certificate(at: Installation, days: int, name: str = "api.example.com") -> Iterator[None]:
    """A TLS server with a self-signed certificate that ends in so many days."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=90))
        .not_valid_after(now + timedelta(days=days, hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = at.root / "pem"
    pem.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    with create_server((HOST, 0)) as listening:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    plain, _ = listening.accept()
                    with contextlib.suppress(OSError), context.wrap_socket(plain, True) as tls:
                        tls.recv(1)

        threading.Thread(target=serve, daemon=True).start()
        (at.root / "etc/documents-api/tls").mkdir(parents=True)
        at.options = ["--tls", f"{HOST}:{listening.getsockname()[1]}"]
        yield
        (at.root / "etc/documents-api/tls").rmdir()


Fault = tuple[Callable[[Installation], AbstractContextManager[None]], str]
# Those of one group are planted together; with the doctor's line for each.
WARNINGS: dict[str, Fault] = {
    "a variable is misspelt": (
        variable("S3_ENDPOINT_URI", "x"),
        r"! Variables, S3_ENDPOINT_URI: is no variable of the service. Perhaps: S3_ENDPOINT_URL",
    ),
    "the certificate expires soon": (
        lambda at: certificate(at, 3),
        r"! Certificate, api.example.com: ends in 3 days, on .*. Renew it; then: .*",
    ),
    "nginx' file was changed": (
        changed("etc/nginx/nginx.conf"),
        r"! nginx, nginx.conf: is not as in this release. Compare: diff .*",
    ),
    "a unit was changed": (
        changed("etc/systemd/system/documents-api@.service"),
        r"! Units, documents-api@.service: is not as in this release. Compare: diff .*",
    ),
}
WRONG: dict[str, Fault] = {
    "a migration is pending": (
        lambda at: sql(
            "UPDATE django_migrations SET app = 'elsewhere' WHERE app = 'sessions'",
            "UPDATE django_migrations SET app = 'sessions' WHERE app = 'elsewhere'",
        ),
        r"✗ Migrations, Pending: sessions\.0001_initial. Run: deploy/manage migrate",
    ),
    "a privilege is missing": (
        lambda at: sql(
            "REVOKE INSERT ON audit_auditentry FROM documents",
            "GRANT INSERT ON audit_auditentry TO documents",
        ),
        r"✗ Database, Privileges: documents lacks INSERT on audit_auditentry. Run: .*",
    ),
    "statements are compiled": (
        role_compiles,
        r"✗ Database, Settings of the role: documents lacks jit=off. Run: deploy/roles",
    ),
    "a table is locked": (
        table_is_locked,
        r"✗ Locks and transactions, Locked: documents_document: pid \d+ \(documents_owner.*\) for "
        r"\d+ s, idle in transaction: LOCK TABLE documents_document .*pg_terminate_backend\(\d+\)",
    ),
    "Redis is full": (full, r"✗ Redis, Memory: .*: full. Raise maxmemory, or .*"),
    "the clock of object storage is wrong": (
        store_in_the_past,
        r"✗ Object storage, Clock: 3,\d+ s behind this machine's. Synchronise both: .*",
    ),
    "the certificate has expired": (
        lambda at: certificate(at, -1),
        r"✗ Certificate, api.example.com: certificate has expired. Renew the certificate.*",
    ),
    "a disk is full": (full_disk, r"✗ Disk, .*/var/log/documents-api: 0 MiB free. Make space. .*"),
}
ALSO_WRONG: dict[str, Fault] = {
    "a privilege is too much": (
        lambda at: sql(
            "GRANT UPDATE ON audit_leaf TO documents", "REVOKE UPDATE ON audit_leaf FROM documents"
        ),
        r"✗ Database, Privileges: documents has also UPDATE on audit_leaf. Run: .*",
    ),
    "Redis is a replica": (replica, r"✗ Redis, Role: a replica, .* Let REDIS_URL lead to .*"),
    "object storage is silent": (
        silent_store,
        r"✗ Object storage: cannot be read: .*Read timeout.* Check S3_ENDPOINT_URL.*",
    ),
    "the certificate has another name": (
        lambda at: certificate(at, 90, "other.example.com"),
        r"✗ Certificate, api.example.com: Hostname mismatch, .*. Renew the certificate.*",
    ),
    "seals are late": (
        lambda at: done_and_undone(
            lambda: seals.grow_older(seals.written()[0], minutes=11), seals.seal
        ),
        r"✗ Audit log, The oldest entry that waits for its seal: 6\d\d s. Look at: journalctl .*",
    ),
}
ELSEWHERE: dict[str, Fault] = {
    "Redis is elsewhere": (
        variable("REDIS_URL", f"redis://:a-secret@{HOST}:1/0"),
        r"✗ Redis: cannot be read: .*. Check REDIS_URL, and that Redis runs",
    ),
    "the key of object storage is wrong": (
        variable("S3_SECRET_ACCESS_KEY", "a-secret"),
        r"✗ Object storage: cannot be read: .*SignatureDoesNotMatch.*Check S3_ENDPOINT_URL.*",
    ),
}
MISSING: dict[str, Fault] = {
    "a variable is missing": (
        variable("REDIS_URL", ""),
        r"✗ Variables, config.E001: REDIS_URL is not set. Set it to .*",
    ),
    "the database is elsewhere": (
        variable("DATABASE_URL", f"postgresql://documents:a-secret@{HOST}:1/documents"),
        r"✗ Database: cannot be read: .*. Check DATABASE_URL, and that PostgreSQL runs",
    ),
}
FAULTS = [WARNINGS, WRONG, ALSO_WRONG, ELSEWHERE, MISSING]


def test_doctor_names_planted_faults_and_is_satisfied_after_their_repair(
    installation: Installation,
) -> None:
    for faults in FAULTS:
        with ExitStack() as planted:
            for plant, _ in faults.values():
                planted.enter_context(plant(installation))
            status, lines = installation.doctor()
        for fault, (_, expected) in faults.items():
            assert any(re.fullmatch(expected, line) for line in lines), [fault, *lines]
        assert status == any(expected[0] == "✗" for _, expected in faults.values())
        assert "a-secret" not in "".join(lines)
    status, lines = installation.doctor()
    for fault, (_, expected) in ChainMap(*FAULTS).items():
        assert not any(re.fullmatch(expected, line) for line in lines), [fault, *lines]
    assert [line for line in lines if line[0] == "✗"] == []
    assert status == 0


def test_doctor_names_a_session_that_is_idle_in_a_transaction(
    transactional_db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "IDLE_SECONDS", 1)
    [locks] = [part for part in parts("doctor") if part.title == "Locks and transactions"]

    def found() -> list[str]:
        lines = [doctor.line(locks, fact) for fact in doctor.read(locks)]
        return [line for line in lines if "Long transaction:" in line]

    assert found() == []
    with psycopg.connect(
        os.environ["DATABASE_OWNER_URL"], dbname=server.test_database_url().rpartition("/")[2]
    ) as other:
        other.execute("SELECT 'a secret' FROM auth_user")
        [line] = eventually(found)
    assert re.fullmatch(
        r"✗ Locks and transactions, Long transaction: pid \d+ \(documents_owner\) for \d+ s, "
        r"idle in transaction: SELECT\. Nothing is vacuumed meanwhile\. .*",
        line,
    )
