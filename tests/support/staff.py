"""The users of the admin, and what they see of the audit log."""

import re
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import Group, User
from django.db import connection
from django.test import Client
from django.urls import reverse
from django_otp.oath import totp
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.models import AuditEntry
from config.console import reauthentication
from tests.support import factories
from tests.support.database import backdated, executed
from tests.support.factories import at
from workspaces.models import Membership, Workspace

START = reverse("admin:index")
SEARCH = reverse("admin:search")
SECURITY = reverse("admin:security")
KEYS = reverse("admin:apikeys_apikey_changelist")
NEW_KEY = reverse("admin:apikeys_apikey_add")
REFUSED = reverse("admin:usage_refusedrequest_changelist")
HOOKS = reverse("admin:webhooks_endpoint_changelist")
DELIVERIES = reverse("admin:webhooks_delivery_changelist")
WORKSPACES = reverse("admin:workspaces_workspace_changelist")
ACCOUNTS = reverse("admin:auth_user_changelist")
HISTORY = reverse("admin:audit_auditentry_changelist")
EXPORT = reverse("admin:audit_auditentry_export")
DOCUMENTS = reverse("admin:documents_document_changelist")
PASSWORD = "correct horse battery staple"
OLGA = "olga@operators.example"


def support() -> User:
    user = factories.user("sam@support.example", is_staff=True)
    # No entry is recorded.
    User.groups.through.objects.create(user=user, group=Group.objects.get(name="Support"))
    return user


def operator() -> User:
    return factories.user(OLGA, is_staff=True, is_superuser=True)


def member(workspace: Workspace, login: str, role: str = "MEMBER") -> User:
    user = factories.user(login, is_staff=True)
    Membership.objects.create(workspace=workspace, user=user, role=role)
    return user


def admin_of_more(user: User, count: int) -> list[Workspace]:
    """Makes so many workspaces that the user is an admin of."""
    made = Workspace.objects.bulk_create(Workspace(name=f"Z {n}") for n in range(count))
    Membership.objects.bulk_create(
        Membership(workspace=each, user=user, role="ADMIN") for each in made
    )
    return made


def signed_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def is_signed_in(client: Client) -> bool:
    """By a page that asks the database for little."""
    return client.get(SECURITY).status_code == 200


def not_recent(client: Client) -> Client:
    """The client, whose user has not entered the password for 15 minutes."""
    session = client.session
    session[reauthentication._KEY] -= reauthentication.RECENT_SECONDS
    session.save()
    return client


def happened(count: int = 1, **fields: Any) -> list[AuditEntry]:
    """Makes entries, a minute apart, the newest first, at 2026-03-01 12:00:00."""
    defaults = {
        "action": "document.downloaded",
        "created_at": lambda number: at("2026-03-01 12:00:00") - timedelta(minutes=number),
    }
    return backdated(
        AuditEntry(**factories.numbered(defaults | fields, number)) for number in range(count)
    )


def of(workspace: Workspace, **fields: Any) -> dict[str, Any]:
    """The fields of an entry that is about a workspace."""
    return {"workspace_id": workspace.id, "workspace_name": workspace.name, **fields}


def seen(client: Client, query: str = "") -> list[int]:
    """The ids of the entries on a page of the audit log, in its order."""
    return [entry.id for entry in shown(client, query).result_list]


def shown(client: Client, query: str = "", url: str = HISTORY) -> Any:
    response: Any = client.get(f"{url}{query}")
    assert response.status_code == 200
    return response.context["cl"]


def errors(client: Client, query: str, url: str = HISTORY) -> dict[str, list[str]]:
    """The errors that a list reports about its address; it shows no rows then."""
    listed = shown(client, query, url)
    assert listed.result_list == []
    found: dict[str, list[str]] = dict(listed.form.errors)
    return found


def told() -> list[tuple[str, str, str, str]]:
    """The action, user, member and detail of the entries so far, but for the keys'."""
    entries = AuditEntry.objects.exclude(action__startswith="key.").order_by("id")
    return list(entries.values_list("action", "person", "member", "detail"))


def ids(entries: list[AuditEntry]) -> list[int]:
    return [entry.id for entry in entries]


def body(response: Any) -> str:
    """The HTML of a page, but for the marks of directions around texts of others."""
    text: str = response.content.decode()
    return text.replace("<bdi>", "").replace("</bdi>", "")


def asked(client: Client, url: str) -> list[str]:
    with executed() as statements:
        assert client.get(url).status_code == 200
    return statements


def analyze(*tables: str) -> None:
    with connection.cursor() as cursor:
        for table in tables:
            cursor.execute(f"ANALYZE {table}")


def code(device: TOTPDevice, later: int = 0) -> str:
    """What an app shows now, or some half minutes later."""
    return f"{totp(device.bin_key, drift=later):06d}"


def give_password(user: User, password: str = PASSWORD) -> User:
    user.set_password(password)
    user.save()
    return user


def reset_link(text: str) -> str:
    """The path of the link to set a password, in an e-mail or on a page."""
    [path] = re.findall(r"http://testserver(/admin/reset/[^\s<]+)", text)
    return str(path)


def set_password(path: str, password: str = PASSWORD) -> Any:
    """What a user gets who opens such a link and sets a password."""
    client = Client()
    form: Any = client.get(path, follow=True)
    assert form.status_code == 200
    new = {"new_password1": password, "new_password2": password}
    return client.post(form.request["PATH_INFO"], new, follow=True)
