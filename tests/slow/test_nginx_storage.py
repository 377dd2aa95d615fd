"""nginx and object storage with an https URL."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.support import factories
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, make_certificate, tls_in_front_of
from tests.support.server import running

SYSTEM_TRUST = "/etc/ssl/certs/ca-certificates.crt"


@pytest.fixture
def over_tls(
    django_db_setup: None, transactional_db: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Nginx, Path]]:
    """nginx that reaches object storage over TLS, and the file with the certificates it trusts."""
    folder = tmp_path_factory.mktemp("storage")
    make_certificate(folder / "tls")
    trusted = folder / "trusted.pem"
    trusted.write_bytes((folder / "tls" / "certificate.pem").read_bytes())
    nginx = Nginx(folder)
    try:
        nginx.wait()
        plain = urlsplit(nginx.store.url).netloc
        with tls_in_front_of(plain, folder) as store:
            nginx.change(
                {
                    "default http;": "default https;",
                    re.escape(plain): store,
                    SYSTEM_TRUST: str(trusted),
                }
            )
            yield nginx, trusted
    finally:
        nginx.stop()


def test_nginx_serves_downloads_of_object_storage_that_has_tls(
    over_tls: tuple[Nginx, Path], acme: Tenant
) -> None:
    nginx, trusted = over_tls
    document = factories.document(acme.workspace, content=b"%PDF-" + b"x" * 300_000)
    path = f"/documents/{document.id}/download"
    assert nginx.get(path, acme.raw).body == b"%PDF-" + b"x" * 300_000
    trusted.write_bytes(Path(SYSTEM_TRUST).read_bytes())  # nothing vouches for this certificate
    nginx.change({})
    assert nginx.get(path, acme.raw).status == 503


def test_downloads_with_keys_that_boto3_finds_and_a_session_token(
    acme: Tenant, django_db_setup: None, transactional_db: None, tmp_path: Path
) -> None:
    """As a machine's role has them: the signed URL has the token, which is long."""
    keys: Any = {f"AWS_{n}": os.environ[f"S3_{n}"] for n in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")}
    keys |= {"AWS_SESSION_TOKEN": "t0k/en+=" * 250, "S3_ACCESS_KEY_ID": ""}
    document = factories.document(acme.workspace, "COMPLETED")
    with running(Nginx(tmp_path, **keys, S3_SECRET_ACCESS_KEY="")) as nginx:
        response = nginx.get(f"/documents/{document.id}/download", acme.raw)
    assert (response.status, response.body[:5]) == (200, b"%PDF-")
