"""Object storage that fails in less obvious ways than being gone, has TLS, or temporary keys."""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support import factories
from tests.support.cast import path_of
from tests.support.client import golden
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, make_certificate
from tests.support.proxy import Proxy, failing_after
from tests.support.server import eventually, running

SYSTEM_TRUST = "/etc/ssl/certs/ca-certificates.crt"


def test_storage_that_denies_nginx_what_was_signed_is_the_same_503(
    nginx: Nginx, acme: Tenant
) -> None:
    nginx.store.alter = failing_after(1, b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
    response = nginx.get(path_of(factories.document(acme.workspace)), acme.raw)
    assert (response.status, response.json()) == (503, golden("unavailable"))
    assert response.headers["retry-after"] == "5"
    assert eventually(lambda: response.headers["request-id"] in nginx.written())


def test_nginx_serves_downloads_of_object_storage_that_has_tls(
    django_db_setup: None, transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    make_certificate(tmp_path / "tls")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes((tmp_path / "tls" / "certificate.pem").read_bytes())
    content = b"%PDF-" + b"x" * 300_000
    document = factories.document(acme.workspace, content=content)
    path = path_of(document)
    with running(Nginx(tmp_path)) as nginx:
        store = Proxy(nginx.store.url, certificate=tmp_path / "tls")
        nginx.change(
            {
                "default http;": "default https;",
                re.escape(urlsplit(nginx.store.url).netloc): urlsplit(store.url).netloc,
                SYSTEM_TRUST: str(trusted),
            }
        )
        assert nginx.get(path, acme.raw).body == content
        trusted.write_bytes(Path(SYSTEM_TRUST).read_bytes())  # nothing vouches for the certificate
        nginx.change({})
        assert nginx.get(path, acme.raw).status == 503
        store.stop()


def test_downloads_with_keys_that_boto3_finds_and_a_session_token(
    acme: Tenant, django_db_setup: None, transactional_db: None, tmp_path: Path
) -> None:
    """As a machine's role has them: the signed URL has the token, which is long."""
    keys: Any = {f"AWS_{n}": os.environ[f"S3_{n}"] for n in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")}
    keys |= {"AWS_SESSION_TOKEN": "t0k/en+=" * 250, "S3_ACCESS_KEY_ID": ""}
    document = factories.document(acme.workspace, "COMPLETED")
    with running(Nginx(tmp_path, **keys, S3_SECRET_ACCESS_KEY="")) as nginx:
        response = nginx.get(path_of(document), acme.raw)
    assert (response.status, response.body[:5]) == (200, b"%PDF-")
