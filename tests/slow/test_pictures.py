"""Pictures of the ten main pages with the demo: `make pictures` takes them."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from apikeys.models import ApiKey
from config.checks import HOUSEKEEPING
from config.dev import demo
from config.dev.demo import KEY, MONTH, key_of
from documents import storage
from documents.models import Document
from events.webhooks.models import Endpoint
from tests.support.browser import Browser
from tests.support.inbox import objects
from tests.support.server import ROOT, Server
from tests.support.usage import refused, used
from tests.support.webhooks import delivered, delivering
from workspaces.models import Membership

PICTURES = ROOT / "docs" / "pictures"
# Of the window, in pixels; a picture shows what is below it too.
SIZE = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
ADMIN, SUPPORT, OPERATOR = "ada@acme.example", "sam@support.example", "olga@operator.example"
# A page's name → who sees it, its address with the ids in it, a text on it.
PAGES = {
    "keys": (ADMIN, "/admin/apikeys/apikey/", KEY),
    "history": (
        ADMIN,
        "/admin/audit/auditentry/?document_id__exact={document}",
        "Document downloaded",
    ),
    "start": (ADMIN, "/admin/", "Acme"),
    "key": (ADMIN, "/admin/apikeys/apikey/{key}/change/", MONTH),
    "refused": (ADMIN, "/admin/usage/refusedrequest/", "no such document"),
    "webhook": (ADMIN, "/admin/webhooks/endpoint/{webhook}/change/", "Delivered"),
    "operator": (OPERATOR, "/admin/", "Overview"),
    "system": (OPERATOR, "/admin/system/", "System"),
    "document": (SUPPORT, "/admin/documents/document/{document}/change/", "Who downloaded it"),
    "docs": (ADMIN, "/api/docs", "Read the documents"),
}


@pytest.fixture
def ids(browser: Browser, service: Server) -> Iterator[dict[str, object]]:
    """The ids of the addresses: of the demo, with downloads and refused requests."""
    before = objects()
    demo.load(print)
    demo.receiver_variables("")  # which makes the endpoint
    document = Document.objects.filter(workspace__name="Acme", status="COMPLETED").latest("pk")
    raw = key_of(Membership.objects.get(user__username=ADMIN), KEY)
    for file_type in ("original", "signed", "certificate"):
        path = f"/documents/{document.pk}/download?type={file_type}"
        assert service.get(path, raw).status == 200
    key = ApiKey.objects.get(name=KEY, workspace=document.workspace)
    # Servers of tests write no usage meanwhile.
    now = timezone.now()
    hours = [3 if hour == now.hour else 0 for hour in range(24)]
    used(key.pk, key.workspace_id, ok=3, downloads=3, hours=hours)
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=now)
    refused(9, **vars(key.snapshot()))
    endpoint = Endpoint.objects.get(workspace=document.workspace)
    delivered(endpoint)
    with delivering(), delivering(HOUSEKEEPING):
        month = ApiKey.objects.get(name=MONTH)
        yield {"document": document.pk, "key": month.pk, "webhook": endpoint.pk}
    storage.delete(objects() - before)


def take(browser: Browser, name: str) -> None:
    """Keeps a picture of the whole page, if it is wanted."""
    if not browser.pictures:
        return
    browser.cdp("Emulation.setDeviceMetricsOverride", **SIZE)
    with browser.preferring("light"):
        height = browser.driver.execute_script("return document.documentElement.scrollHeight")
        clip = {"x": 0, "y": 0, "width": SIZE["width"], "height": height, "scale": 1}
        picture = browser.cdp("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
    browser.cdp("Emulation.clearDeviceMetricsOverride")
    Path(PICTURES / f"{name}.png").write_bytes(base64.b64decode(picture["data"]))


def test_pictures_of_the_main_pages(ids: dict[str, object], browser: Browser) -> None:
    for name, (login, path, text) in PAGES.items():
        browser.log_in(User.objects.get(username=login))
        browser.open(path.format(**ids))
        assert browser.shows(text), name
        take(browser, name)
        browser.check_layout(name, {})  # axe has seen them in test_admin_isolation.py
