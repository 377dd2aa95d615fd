"""What runs beside each other during an upgrade: a release's instances and another one's nginx."""

from pathlib import Path

import pytest

from audit.models import Action, AuditEntry
from tests.support import factories, openapi, releases
from tests.support.factories import Tenant
from tests.support.nginx import Nginx
from tests.support.server import running

GRANIAN = ("granian", "--interface=wsgi", "config.wsgi:application")


@pytest.fixture
def former(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """The folder of the release that the test's parameter names, with its packages."""
    code = releases.unpack(request.param, tmp_path)
    releases.add_missing_packages(code)
    return code


def check_downloads(front: Nginx, tenant: Tenant) -> None:
    document = factories.document(tenant.workspace)
    path = f"/documents/{document.id}/download?type=original"
    whole = front.get(path, tenant.raw)
    part = front.get(path, tenant.raw, Range="bytes=5-9")
    assert (whole.status, part.status) == (200, 206)
    assert whole.body.startswith(b"%PDF-")
    assert part.body == whole.body[5:10]
    assert whole.headers["content-type"] == "application/pdf"
    assert "attachment" in whole.headers["content-disposition"]
    entries = AuditEntry.objects.filter(action=Action.DOCUMENT_DOWNLOADED)
    assert {entry.request_id for entry in entries} == {
        response.headers["request-id"] for response in (whole, part)
    }
    assert entries.count() == 2


@pytest.mark.parametrize("former", [releases.RELEASE_1], indirect=True)
def test_instance_of_1_0_0_serves_downloads_behind_our_nginx(
    former: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transactional_db: None,
    acme: Tenant,
) -> None:
    monkeypatch.setattr(Nginx, "code", former)
    monkeypatch.setattr(Nginx, "module", GRANIAN)
    # Its responses have fewer headers than today's schema names.
    monkeypatch.setattr(openapi, "check_response", lambda *args, **options: None)
    with running(Nginx(tmp_path, NGINX_HANDOFF="yes")) as front:
        check_downloads(front, acme)


@pytest.mark.parametrize("former", [releases.LAST_RELEASE], indirect=True)
@pytest.mark.parametrize("other", ["code", "deploy"])
def test_last_release_and_ours_serve_downloads_behind_each_other_s_nginx(
    former: Path,
    other: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transactional_db: None,
    acme: Tenant,
) -> None:
    monkeypatch.setattr(Nginx, other, former if other == "code" else former / "deploy")
    with running(Nginx(tmp_path, SPOOL_DIR=str(tmp_path))) as front:
        check_downloads(front, acme)
