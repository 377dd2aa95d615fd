"""The two pictures of the README: `make pictures` takes them from the pages themselves."""

import base64
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.usage import report
from apikeys.usage.models import KeyUsage
from audit.models import Action
from tests.support import factories
from tests.support.browser import Browser
from tests.support.factories import Tenant
from tests.support.server import ROOT
from tests.support.staff import happened, of

PICTURES = ROOT / "docs" / "pictures"
# Of its window, in pixels: what a README shows without scrolling.
SIZE = {"width": 1100, "height": 620, "deviceScaleFactor": 1, "mobile": False}
DAYS = 30


@pytest.fixture
def lived_in(acme: Tenant) -> Tenant:
    """Acme with three keys that are in use since a month."""
    ApiKey.objects.filter(pk=acme.key.pk).update(name="CRM sync")
    others = [
        factories.issue(acme.workspace, name, acme.admin)[0] for name in ("Reports", "Archive")
    ]
    today = report.today()
    KeyUsage.objects.bulk_create(
        KeyUsage(
            key_id=key.pk,
            day=today - timedelta(days=day),
            workspace_id=acme.workspace.pk,
            ok=scale * (4 if (today - timedelta(days=day)).weekday() > 4 else 30 + 17 * day % 23),
            errors=day % 9 // 8,
            limited=0,
            downloads=scale * (day % 5),
        )
        for scale, key in enumerate((*others, acme.key), 1)
        for day in range(DAYS)
    )
    ApiKey.objects.update(last_used_at=timezone.now())
    return acme


def take(browser: Browser, name: str, top: str = "body") -> None:
    """Keeps a picture of the window in the repository, if pictures are wanted.

    Args:
        top: the CSS selector of what it begins with.
    """
    browser.cdp("Emulation.setDeviceMetricsOverride", **SIZE)
    browser.driver.execute_script("arguments[0].scrollIntoView()", browser.find(top))
    with browser.preferring("light"):
        picture = browser.cdp("Page.captureScreenshot")
    browser.cdp("Emulation.clearDeviceMetricsOverride")
    if browser.pictures:
        Path(PICTURES / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


def test_picture_of_a_workspace_s_keys(lived_in: Tenant, browser: Browser) -> None:
    browser.log_in(lived_in.admin)
    browser.open("/admin/apikeys/apikey/")
    assert "CRM sync" in browser.text
    take(browser, "keys")


def test_picture_of_a_document_s_history(lived_in: Tenant, browser: Browser) -> None:
    document = factories.document(lived_in.workspace, "COMPLETED", title="Lease, second floor")
    about = {
        "document_id": document.id,
        "document_title": document.title,
        "person": "deploy (manage.py import_documents)",
        "created_at": timezone.now() - timedelta(minutes=1),
    }
    happened(**of(lived_in.workspace, action=Action.DOCUMENT_IMPORTED, **about))
    for file_type in ("original", "signed", "certificate"):
        path = f"/documents/{document.id}/download?type={file_type}"
        assert browser.server.get(path, lived_in.raw).status == 200
    browser.log_in(lived_in.admin)
    browser.open(f"/admin/audit/auditentry/?document_id__exact={document.id}")
    assert "Document downloaded" in browser.text
    take(browser, "history", top="#result_list")
