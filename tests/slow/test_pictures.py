"""Pictures of the ten main pages: `make pictures` takes them from the pages themselves."""

import base64
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from apikeys.keys import today
from apikeys.models import ApiKey
from apikeys.usage.models import KeyUsage
from audit.models import Action
from documents.models import Document
from events.webhooks.models import Endpoint
from tests.support import factories, staff, webhooks
from tests.support.browser import THOROUGHLY, Browser
from tests.support.factories import Tenant
from tests.support.server import ROOT
from tests.support.staff import happened, of
from tests.support.usage import refused

PICTURES = ROOT / "docs" / "pictures"
# Of its window, in pixels: what a README shows without scrolling.
SIZE = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
DAYS = 30


@pytest.fixture
def lived_in(acme: Tenant) -> Tenant:
    """Acme with three keys that are in use since a month."""
    ApiKey.objects.filter(pk=acme.key.pk).update(name="CRM sync")
    others = [
        factories.issue(acme.workspace, name, acme.admin)[0] for name in ("Reports", "Archive")
    ]
    last = today()
    KeyUsage.objects.bulk_create(
        KeyUsage(
            key_id=key.pk,
            day=last - timedelta(days=day),
            workspace_id=acme.workspace.pk,
            ok=scale * (4 if (last - timedelta(days=day)).weekday() > 4 else 30 + 17 * day % 23),
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
    """Keeps a picture of a window's height in the repository, if pictures are wanted.

    Args:
        top: the CSS selector of what it begins with.
    """
    browser.cdp("Emulation.setDeviceMetricsOverride", **SIZE)
    y = max(0, browser.find(top).location["y"] - 16)
    clip = {"x": 0, "y": y, "width": SIZE["width"], "height": SIZE["height"], "scale": 1}
    with browser.preferring("light"):
        picture = browser.cdp("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    browser.cdp("Emulation.clearDeviceMetricsOverride")
    if browser.pictures:
        Path(PICTURES / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


@pytest.fixture
def busy(lived_in: Tenant, browser: Browser) -> Tenant:
    """The same, with a document that was downloaded, a request that was refused, and a webhook."""
    document = factories.document(lived_in.workspace, "COMPLETED", title="Lease, second floor")
    for order, name in enumerate(("Ada Lovelace", "Charles Babbage"), 1):
        email = f"{name.split()[0].lower()}@example.com"
        factories.recipient(document, status="SIGNED", name=name, email=email, order=order)
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
    target = webhooks.endpoint(lived_in, "https://crm.acme.example/signed")
    webhooks.delivered(target)
    webhooks.failed(target)
    refused(30, key_id=lived_in.key.pk, key_name="CRM sync", **of(lived_in.workspace))
    return lived_in


# A page's name → who sees it, its address with the ids in it, what it begins with, a text on it.
PAGES = {
    "keys": ("admin", "/admin/apikeys/apikey/", "body", "CRM sync"),
    "history": (
        "admin",
        "/admin/audit/auditentry/?document_id__exact={document}",
        ".choices",
        "Document downloaded",
    ),
    "start": ("admin", "/admin/", "body", "CRM sync"),
    "key": ("admin", "/admin/apikeys/apikey/{key}/change/", "body", "CRM sync"),
    "refused": ("admin", "/admin/usage/refusedrequest/", "body", "no such document"),
    "webhook": ("admin", "/admin/webhooks/endpoint/{webhook}/change/", "body", "crm.acme.example"),
    "operator": ("operator", "/admin/", "body", "Overview"),
    "system": ("operator", "/admin/system/", "body", "System"),
    "document": ("support", "/admin/documents/document/{document}/change/", "body", "Lease"),
    "docs": ("admin", "/api/docs", "body", "Read the documents"),
}


def test_pictures_of_the_main_pages(busy: Tenant, browser: Browser) -> None:
    users = {"admin": busy.admin, "operator": staff.operator(), "support": staff.support()}
    ids = {
        "document": Document.objects.get().pk,
        "key": busy.key.pk,
        "webhook": Endpoint.objects.get().pk,
    }
    for name, (who, path, top, text) in PAGES.items():
        browser.log_in(users[who])
        browser.open(path.format(**ids))
        assert browser.shows(text), name
        take(browser, name, top)
        browser.check_layout(name, THOROUGHLY)
