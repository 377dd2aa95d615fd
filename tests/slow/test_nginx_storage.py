"""nginx and object storage with an https URL."""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.support import factories
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, make_certificate
from tests.support.proxy import Proxy
from tests.support.server import running

SYSTEM_TRUST = "/etc/ssl/certs/ca-certificates.crt"


def test_nginx_serves_downloads_of_object_storage_that_has_tls(
    django_db_setup: None, transactional_db: None, acme: Tenant, tmp_path: Path
) -> None:
    make_certificate(tmp_path / "tls")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes((tmp_path / "tls" / "certificate.pem").read_bytes())
    content = b"%PDF-" + b"x" * 300_000
    document = factories.document(acme.workspace, content=content)
    path = f"/documents/{document.id}/download"
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
        response = nginx.get(f"/documents/{document.id}/download", acme.raw)
    assert (response.status, response.body[:5]) == (200, b"%PDF-")
