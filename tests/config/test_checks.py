"""`check --deploy`: clean as deploy/ sets it up, and what it finds otherwise."""

import contextlib
import os
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from django.core.management import call_command

from audit.checks import sealing_variables
from config import checks
from config.checks import deployment, environment, redis
from config.runtime.ports import free_port
from documents.models import StoredFile
from tests.support import factories, seals, server
from tests.support.factories import Tenant
from tests.support.proxy import HOST, Proxy
from tests.support.server import EXEC, ROOT, eventually

PRODUCTION = {
    "HTTPS_ONLY": "yes",
    "SECOND_FACTOR": "operators",
    "TRUSTED_PROXIES": "1",
    "ALLOWED_HOSTS": "api.example.com",
    "AUDIT_PUBLIC_KEYS": str(seals.KEY.public),
    "AUDIT_WITNESSES": "file:/var/lib/documents-api/checkpoints,bucket",
    "AUDIT_WITNESS_BUCKET": "documents-checkpoints",
    "UPGRADE_URL": "https://www.example.com/billing",
}


COMMAND = [sys.executable, "manage.py", "check", "--deploy", "--database", "default"]


def check(**environment: str) -> str:
    """What the command prints on stderr, with the variables of production and these."""
    done = subprocess.run(
        [*COMMAND, "--fail-level", "WARNING"],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": server.test_database_url(), **PRODUCTION, **environment},
        capture_output=True,
        text=True,
    )
    return done.stderr if done.returncode else ""


def listens(port: int) -> bool:
    """Whether connections are accepted."""
    with contextlib.suppress(OSError):
        socket.create_connection((HOST, port)).close()
        return True
    return False


@pytest.fixture
def public_store(tmp_path: Path) -> Iterator[str]:
    """The URL of object storage that asks for no key, with one object in its bucket."""
    bucket = tmp_path / os.environ["S3_BUCKET"]
    bucket.mkdir()
    (bucket / "a.pdf").write_bytes(b"%PDF-1.7")
    port = free_port()
    rclone = [str(Path(sys.executable).parent / "rclone"), "serve", "s3", str(tmp_path)]
    options = [f"--addr={HOST}:{port}", "--config=", f"--cache-dir={tmp_path / 'cache'}"]
    process = subprocess.Popen([sys.executable, "-c", EXEC, *rclone, *options])
    try:
        assert eventually(lambda: listens(port))
        yield f"http://{HOST}:{port}"
    finally:
        process.terminate()
        process.wait()


@pytest.mark.slow
def test_check_deploy_finds_nothing_in_production(transactional_db: None, acme: Tenant) -> None:
    factories.document(acme.workspace)
    seals.written()
    seals.seal()
    seals.verified()
    call_command("record_backup", "3 files", stdout=StringIO())
    assert check() == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value", "finding"),
    [
        ("SECRET_KEY", "secret", "(config.E001) SECRET_KEY or a fallback can be guessed."),
        ("S3_BUCKET", "", "(config.E001) S3_BUCKET is not set."),
        ("SECOND_FACTORS", "yes", "HINT: Perhaps: SECOND_FACTOR"),
        ("DATABASE_URL", f"postgresql://documents:a-secret@{HOST}:9/x", "(config.E003) Database: "),
        ("S3_ENDPOINT_URL", "http://127.0.0.1:9", "(documents.E001) Object storage: "),
        ("S3_SECRET_ACCESS_KEY", "wrong", "(documents.E001) Object storage: "),
    ],
)
def test_check_deploy_names_a_variable_that_is_wrong(
    transactional_db: None, name: str, value: str, finding: str
) -> None:
    found = check(**{name: value})
    assert finding in found
    assert "a-secret" not in found


@pytest.mark.parametrize(
    ("read", "name", "value", "finding"),
    [
        (environment, "ALLOWED_HOSTS", ["*"], "config.E001 ALLOWED_HOSTS accepts every host."),
        (environment, "SECRET_KEY_FALLBACKS", ["a"], "config.E001 SECRET_KEY or a fallback can"),
        (deployment, "UPGRADE_URL", "https://example.com/x", "config.E002 A 402 leads customers"),
        (deployment, "COUNT_IN_PROCESS", True, "config.W002 REDIS_URL is memory://"),
        (deployment, "HTTPS_ONLY", False, "config.W002 HTTPS_ONLY is off"),
        (deployment, "TRUSTED_PROXIES", 0, "config.W002 TRUSTED_PROXIES is 0"),
        (deployment, "SECOND_FACTOR", "nobody", "config.W002 SECOND_FACTOR is nobody"),
        (redis, "REDIS_URL", f"redis://{HOST}:9/0", "config.E006 Redis: "),
        (sealing_variables, "AUDIT_PUBLIC_KEYS", [], "audit.W002 AUDIT_PUBLIC_KEYS is not set"),
        (sealing_variables, "AUDIT_PUBLIC_KEYS", ["x"], "audit.E002 AUDIT_PUBLIC_KEYS is not"),
        (sealing_variables, "AUDIT_WITNESSES", ["stdout"], "audit.W002 AUDIT_WITNESSES has no"),
        (sealing_variables, "AUDIT_WITNESSES", ["paper"], "audit.E002 AUDIT_WITNESSES must have"),
        (sealing_variables, "AUDIT_WITNESSES", ["bucket"], "audit.E002 AUDIT_WITNESSES has"),
    ],
)
def test_check_names_an_unsafe_setting(
    settings: Any, read: Any, name: str, value: Any, finding: str
) -> None:
    settings.HTTPS_ONLY, settings.AUDIT_PUBLIC_KEYS = True, [str(seals.KEY.public)]
    settings.COUNT_IN_PROCESS = False
    setattr(settings, name, value)
    assert finding in "\n".join(f"{each.id} {each.msg}" for each in read(databases=["default"]))


@pytest.mark.slow
def test_check_deploy_finds_a_public_bucket(transactional_db: None, public_store: str) -> None:
    assert "(documents.E002) Anyone can list" in check(S3_ENDPOINT_URL=public_store)


@pytest.mark.slow
def test_check_deploy_finds_public_objects_in_a_bucket_that_nobody_can_list(
    transactional_db: None, public_store: str
) -> None:
    def without_list(block: bytes) -> bytes:
        refused = b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"
        return refused if b"<ListBucketResult" in block else block

    proxy = Proxy(public_store, without_list)
    try:
        assert "documents.E" not in check(S3_ENDPOINT_URL=proxy.url)
        StoredFile.objects.create(object_key="a.pdf", size=8, sha256="0" * 64)
        assert "(documents.E002) Anyone can list" in check(S3_ENDPOINT_URL=proxy.url)
    finally:
        proxy.stop()


def tls_server(folder: Path, days: int, name: str) -> socket.socket:
    """What listens with a certificate that ends in so many days; its file is in the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    ends = datetime.now(UTC) + timedelta(days=days, hours=1)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), 1)
        .not_valid_before(ends - timedelta(days=365))
        .not_valid_after(ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem, kind = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = folder / "tls.pem"
    file.write_bytes(
        key.private_bytes(pem, kind, serialization.NoEncryption()) + made.public_bytes(pem)
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    listening = socket.create_server((HOST, 0))

    def serve() -> None:
        with contextlib.suppress(OSError):
            plain, _ = listening.accept()
            with plain, context.wrap_socket(plain, server_side=True) as encrypted:
                encrypted.recv(1)

    threading.Thread(target=serve, daemon=True).start()
    return listening


@pytest.mark.parametrize(
    ("days", "name", "trusted", "finding"),
    [
        (90, "api.example.com", True, "config.I008 The certificate of api.example.com ends in 90"),
        (3, "api.example.com", True, "config.W008 The certificate of api.example.com ends in 3 "),
        (-1, "api.example.com", True, "config.E008 Clients do not accept the certificate"),
        (90, "other.example.com", True, "config.W008 Clients do not accept the certificate"),
        (90, "api.example.com", False, "config.W008 Clients do not accept the certificate"),
    ],
)
def test_check_says_when_the_certificate_ends_and_whether_clients_accept_it(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    days: int,
    name: str,
    trusted: bool,
    finding: str,
) -> None:
    settings.ALLOWED_HOSTS = ["api.example.com"]
    with tls_server(tmp_path, days, name) as listening:
        monkeypatch.setattr(checks, "TLS", tmp_path)
        monkeypatch.setattr(checks, "NGINX", listening.getsockname())
        if trusted:
            monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "tls.pem"))
        [found] = checks.certificate(databases=["default"])
    assert f"{found.id} {found.msg}".startswith(finding)
