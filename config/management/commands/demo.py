"""demo: loads the demo's data into an empty database, and prints its keys and logins."""

import base64
import contextlib
import hmac
import itertools
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse

from apikeys import keys
from apikeys.models import AlreadyIssued, ApiKey
from config.dev import past
from config.management.progress import ProgressCommand, Report
from config.request.redaction import PREFIX
from documents import demo
from events.webhooks import demo as webhooks
from workspaces.models import Membership, Workspace

KEY = "make run"  # the name of the key that is printed


class Command(ProgressCommand):
    help = "Loads the demo into an empty database, and prints its keys, logins and a curl line."

    def handle(self, **options: Any) -> None:
        load(self.report)
        self.stdout.write("\n".join(text(settings.BASE_URL or "http://127.0.0.1:8000")))


@transaction.atomic
def load(report: Report) -> None:
    if not Workspace.objects.exists():
        demo.load(report, password_of)
        report("Thirty days of use …")
        admin = Membership.objects.admins().get(workspace=demo.ACME.id)
        webhooks.receiver(admin.workspace, admin.user)  # makes the endpoint
        key_of(admin, KEY)
        past.invent(ApiKey.objects.get(workspace=admin.workspace, name=KEY))


def text(base: str) -> list[str]:
    """Lines: a key for each workspace, with a curl line, and the logins."""
    lines = []
    admins = Membership.objects.admins().select_related("workspace", "user")
    for tenant in demo.TENANTS:
        if admin := admins.filter(workspace=tenant.id).first():
            raw = key_of(admin, KEY)
            lines.append(f"Key for {admin.workspace}: {raw}")
            if tenant == demo.ACME:
                url = f"{base}/api/v1/documents?limit=2"
                curl = f"curl -sS -H 'Authorization: Bearer {raw}' '{url}'"
                lines.append(f"  {curl} | python3 -m json.tool")
    lines.append(f"\nAdmin: {base}/admin/")
    for person in demo.PEOPLE:
        if User.objects.filter(username=person.login).exists():
            lines.append(f"  {person.login:<24}{password_of(person.login):<18}{person.does}")
    if settings.SECOND_FACTOR == "nobody":
        lines.append("  They need no second factor. With one: SECOND_FACTOR=admins make run")
    return [*lines, f"\nE-mails: {base}{reverse('admin:mailbox')}"]


def key_of(membership: Membership, name: str) -> str:
    """A raw key for the workspace: the same at each start, until somebody ends it."""
    workspace, admin = membership.workspace, membership.user
    for number in itertools.count(1):
        what = f"{workspace.id}:{name}:{number}"
        raw = PREFIX + _derived(f"key:{what}").hex()[: keys.SECRET_LENGTH]
        id = UUID(bytes=_derived(f"key id:{what}")[:16])
        with contextlib.suppress(AlreadyIssued):
            return ApiKey.objects.issue(workspace=workspace, name=name, by=admin, id=id, raw=raw)[1]
        if ApiKey.objects.active().filter(pk=id).exists():
            return raw
    raise AssertionError


def password_of(login: str) -> str:
    return base64.b32encode(_derived(login)[:10]).decode().lower()


def _derived(what: str) -> bytes:
    """32 bytes that are the same at each start with this SECRET_KEY."""
    return hmac.digest(settings.SECRET_KEY.encode(), f"demo:{what}".encode(), "sha256")
