"""The demo of `make run`: its data, keys and logins."""

import base64
import contextlib
import hmac
import itertools
import random
from datetime import UTC, datetime, time, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from apikeys import keys
from apikeys.models import AlreadyIssued, ApiKey
from apikeys.usage import flusher
from apikeys.usage.models import KeyUsage, RefusedRequest
from config.api.errors import DocumentNotFound
from config.management.progress import Report
from config.request.redaction import PREFIX, PUBLIC_LENGTH
from documents import demo
from events.webhooks import demo as webhooks
from workspaces.models import Membership, Workspace

KEY = "make run"  # the name of the key that is printed
MONTH = "Status report, no downloads"  # that of the key whose requests are invented
ADDRESS, CLIENT = "203.0.113.7", "status-report/2.3"  # of these requests


@transaction.atomic
def load(report: Report) -> None:
    """Loads the demo's data, if the database is empty."""
    if not Workspace.objects.exists():
        demo.load(report, password_of)
        invent_month(Workspace.objects.get(pk=demo.ACME.id))


def invent_month(workspace: Workspace) -> None:
    """A key, and thirty days of its requests: busy on weekdays, some refused, from one address.

    The audit log has none of it, since each entry has the time at which it was written: neither
    the creation of the key nor downloads. The refused requests are those that their list has.
    """
    raw = keys.generate()  # nobody knows it
    public = {"prefix": raw[:PUBLIC_LENGTH], "digest": keys.digest(raw)}
    key = ApiKey.objects.create(workspace=workspace, name=MONTH, **public)
    chance = random.Random(1)  # noqa: S311 - no secret
    uses, refused = [], []
    for ago in range(29, 0, -1):
        day = timezone.now().date() - timedelta(days=ago)
        busy = range(20, 60) if day.weekday() < 5 else range(8)  # requests an hour
        errors = chance.choice([0, 0, 0, 0, 1, 2, 3]) if day.weekday() < 5 else 0
        hours = [chance.choice(busy) if 7 <= hour < 18 else 0 for hour in range(24)]
        counts = {"ok": sum(hours), "hours": hours, "busiest": max(hours)}
        at = datetime.combine(day, time(17, chance.randrange(55)), UTC)
        by = {"last_at": at, "address": ADDRESS, "user_agent": CLIENT}
        uses.append(KeyUsage(key_id=key.pk, workspace_id=workspace.pk, day=day, **counts, **by))
        refused += [_refused(key, at + timedelta(minutes=n), chance) for n in range(errors)]
    flusher.write(uses, refused)
    key.created_at -= timedelta(days=30)
    key.save(update_fields=["created_at"])


def _refused(key: ApiKey, at: datetime, chance: random.Random) -> RefusedRequest:
    request, document = (UUID(int=chance.getrandbits(128), version=4) for _ in range(2))
    return RefusedRequest(
        created_at=at,
        last_at=at,
        request_ids=[request],
        status=404,
        response_text=str(DocumentNotFound.default_detail),
        reason=str(DocumentNotFound.default_detail),
        method="GET",
        path=f"/api/v1/documents/{document}",
        address=ADDRESS,
        user_agent=CLIENT,
        **vars(key.snapshot()),
    )


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


def receiver_variables(base: str) -> dict[str, str]:
    """The variables of `examples/receive.py`, for the workspace Acme, if there is one."""
    admin = Membership.objects.admins().filter(workspace=demo.ACME.id).first()
    found = webhooks.receiver(admin.workspace, admin.user) if admin else None
    if admin is None or found is None:
        return {}
    port, secret = found
    return {
        "DTD_BASE_URL": base,
        "DTD_API_KEY": key_of(admin, "receive.py"),
        "DTD_WEBHOOK_SECRET": secret,
        "PORT": str(port),
        "PYTHONPATH": "client",
    }


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
