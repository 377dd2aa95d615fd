"""Every page of the admin, taken from the URL resolver, tried by everybody with Acme's ids.

A page that is new is tried without anyone remembering to; one whose address has a part that these
tests do not know makes them fail until they are taught it.
"""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import User
from django.test import Client
from django.urls import get_resolver, reverse
from django.utils.http import urlsafe_base64_encode

from audit.models import Action, AuditEntry
from events.webhooks import services
from events.webhooks.models import Endpoint
from tests.support import factories, staff, webhooks
from tests.support.browser import Browser
from tests.support.database import whole_database
from tests.support.factories import Tenant
from tests.support.usage import refused, used
from workspaces.accounts import invitations

pytestmark = pytest.mark.slow

UNKNOWN_UUID, UNKNOWN_NUMBER = "00000000-0000-4000-8000-00000000dead", "999999999"
MALFORMED = ("-1", "%00", "' or 1=1 --")


@dataclass(frozen=True)
class Belongings:
    """What Acme has: ids by model, and every text that must not be seen by others.

    Attributes:
        hidden: the part of the secrets that support staff and operators must not see either.
        of_keys: names and first characters of keys.
    """

    ids: dict[str, list[str]]
    secrets: set[str]
    hidden: set[str]
    of_keys: list[str]

    def all_ids(self) -> list[str]:
        return list(itertools.chain.from_iterable(self.ids.values()))


@pytest.fixture
def belongings(acme: Tenant) -> Belongings:
    """Acme with one of everything, each with a name that stands out."""
    bob = staff.member(acme.workspace, "bob@acme.example")
    invitations.create(acme.workspace, "zora@initech.example", by=acme.admin, mailed=False)
    gone, _ = factories.issue(acme.workspace, "Retired integration", acme.admin)
    gone_id = str(gone.pk)
    gone.delete_by(by=acme.admin)
    document = factories.listed(acme.workspace, 1, title="Merger with Initech")[0]
    person = factories.recipient(document, name="Zoe Zimmer", email="zoe@initech.example")
    of_key, of_document = vars(acme.key.snapshot()), vars(document.snapshot())
    staff.happened(**of_key, **of_document, address="203.0.113.77", user_agent="acme-sync/1.0")
    path = f"/api/v1/documents/{document.pk}"
    client: dict[str, Any] = {"address": "203.0.113.78", "user_agent": "acme-other/1.0"}
    [refusal] = refused(**of_key, **client, path=path)
    endpoint, secret = services.create(
        workspace=acme.workspace,
        url="https://hooks.initech.example/acme?token=zephyr",
        types=["document.completed"],
        by=acme.admin,
    )
    delivery = webhooks.failed(endpoint)
    Endpoint.objects.filter(pk=endpoint.pk).update(failing_since=delivery.created_at)
    ids = {
        "workspaces_workspace": [str(acme.workspace.pk)],
        "apikeys_apikey": [str(acme.key.pk), gone_id],
        "documents_document": [str(document.pk)],
        "audit_auditentry": [str(entry.pk) for entry in AuditEntry.objects.all()],
        "auth_user": [str(acme.admin.pk), str(bob.pk)],
        "usage_refusedrequest": [str(refusal.pk)],
        "webhooks_endpoint": [str(endpoint.pk)],
        "webhooks_delivery": [str(delivery.pk)],
    }
    of_keys = [acme.key.name, acme.key.prefix, gone.name, gone.prefix]
    hidden = {acme.raw, acme.key.digest, secret, endpoint.secret, "zephyr"}
    secrets = {
        *itertools.chain(
            ids["workspaces_workspace"], ids["apikeys_apikey"], ids["documents_document"]
        ),
        *(*of_keys, acme.workspace.name, acme.admin.username, bob.username),
        *(document.title, person.name, person.email, "203.0.113.77", "acme-sync/1.0"),
        *(refusal.request_ids[0].hex, "203.0.113.78", "acme-other/1.0", "zora@initech.example"),
        *(str(endpoint.pk), endpoint.public_url, "Oops"),
        *(delivery.public_event_id, str(delivery.document_id)),
    }
    return Belongings(ids, secrets | hidden, hidden, of_keys)


# What the addresses below /admin/ are called, and their patterns.
ADDRESSES = get_resolver("config.console.urls").namespace_dict["admin"][1].reverse_dict


def names() -> list[str]:
    found = {name for name in ADDRESSES if isinstance(name, str)}
    return sorted(found, key=lambda name: (name == "logout", name))  # it ends the session


def model_of(name: str) -> str:
    """The model that an address is about, "" for none."""
    labels = ["_".join(model._meta.label_lower.split(".")) for model in admin.site._registry]
    return next((label for label in labels if name.startswith(f"{label}_")), "")


def parts_of(name: str) -> set[str]:
    """The names of the parts of an address that are not fixed."""
    ways = [way for possible, *_ in ADDRESSES.getlist(name) for way in possible]
    [parts] = {frozenset(names) for _, names in ways}
    return set(parts)


def addresses(name: str, ids: list[str]) -> list[str]:
    parts = parts_of(name)
    if not parts:
        return [reverse(f"admin:{name}")]
    if parts == {"uidb64", "token"}:  # a user's id, and what only an e-mail to the user has
        return [
            reverse(f"admin:{name}", args=[urlsafe_base64_encode(each.encode()), token])
            for each in ids
            for token in ("set-password", "cmgb4h-00000000000000000000000000000000")
        ]
    assert parts == {"object_id"}, f"{name} has parts that this test does not know: {parts}"
    return [reverse(f"admin:{name}", args=[each]) for each in ids]


LOG_MODELS = ("audit_auditentry", "usage_refusedrequest", "webhooks_delivery")


def queries(belongings: Belongings) -> Iterator[dict[str, str]]:
    """What a list, a filter, a search or an autocomplete could be asked about Acme."""
    uuids = [value for value in belongings.all_ids() if "-" in value]
    for value in [*uuids, "Acme", "Merger", "dtd_", "@acme.example"]:
        yield {"q": value, "term": value}
    filters = {
        "workspace_id__exact": "workspaces_workspace",
        "document_id__exact": "documents_document",
        "key_id__exact": "apikeys_apikey",
    }
    for name, model in filters.items():
        yield {name: belongings.ids[model][0]}
    for model in LOG_MODELS:
        yield {"open": belongings.ids[model][0]}


# Would do something on an object's page, or to all of a list, where that is allowed.
POST: dict[str, Any] = {
    **{"confirmed": "yes", "post": "yes", "name": "Taken over", "plan": "FREE", "do": "promote"},
    **{"url": "https://mallory.example/", "types": ["document.sent"], "reason": "No reason"},
    **{"email": "mallory@acme.example", "role": "ADMIN"},
    **{"action": "delete_selected", "_selected_action": "1", "index": "0", "select_across": "1"},
}


# Random letters, in which any short text may be; messages are read on the next page.
TOKENS = r'(?:csrfmiddlewaretoken" value="|new_id" value="|csrftoken=|sessionid=|messages=)[^;"]+'


def text_of(response: Any) -> str:
    content = response.getvalue().decode()
    return re.sub(TOKENS, "", f"{response.headers}{response.cookies}{content}")


OF_READERS = (Action.DOCUMENT_VIEWED, Action.LOG_EXPORTED, Action.LOGOUT)


def database() -> dict[str, list[str]]:
    """The rows of all tables, without sessions and what the audit log says about readers."""
    found = whole_database()
    del found["workspaces_session"]
    entries = AuditEntry.objects.exclude(action__in=OF_READERS).order_by("id")
    found["audit_auditentry"] = [str(entry) for entry in entries.values()]
    return found


def responses(
    client: Client, belongings: Belongings, leave_out: Sequence[str] = ()
) -> Iterator[tuple[str, str, Any]]:
    """Each address by GET and by POST: what was sent, the address's name, and the response."""
    malformed = itertools.cycle(MALFORMED)
    for name in names():
        if name in leave_out:
            continue
        for url, form in attempts(name, belongings, next(malformed)):
            yield url, name, client.get(url)
            yield f"{url} {form}", name, client.post(url, form)
        if is_list(name):
            for query in queries(belongings):
                yield str(query), name, client.get(reverse(f"admin:{name}"), query)


def attempts(
    name: str, belongings: Belongings, malformed: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    """The addresses of this name, each with the form to post to it."""
    model = "auth_user" if "uidb64" in parts_of(name) else model_of(name)
    ids = belongings.ids.get(model) or belongings.all_ids()
    form = POST if parts_of(name) or is_list(name) else {}
    if "object_id" in parts_of(name):
        ids = [*ids, malformed]
    for url in addresses(name, ids):
        yield url, form


def is_list(name: str) -> bool:
    """Whether an address could be asked for a choice of objects."""
    return not parts_of(name) and bool(model_of(name)) and not name.endswith("_add")


def leaked(sent: str, response: Any, secrets: set[str]) -> set[str]:
    """The secrets that the response tells; what was sent is none, now or to an earlier export."""
    text = re.sub(r"(Document|API key|characters of a key): [^,\"<]+", "", text_of(response))
    return {secret for secret in secrets if secret in text and secret not in sent}


def test_admin_addresses_are_all_known_to_these_tests() -> None:
    assert {"index", "login", "apikeys_apikey_revoke"} <= set(names())
    assert not {"view_on_site", "autocomplete"} & set(names())


STRANGERS = ("admin next door", "former admin", "not staff", "nobody")


@pytest.mark.parametrize("who", [*STRANGERS, "member"])
def test_admin_shows_strangers_nothing_of_acme_and_its_members_no_keys_and_changes_nothing(
    belongings: Belongings, acme: Tenant, umbrella: Tenant, who: str
) -> None:
    client, secrets = Client(raise_request_exception=False), belongings.secrets
    outsider, bob = factories.user("mallory@acme.example"), "bob@acme.example"
    if user := {"admin next door": umbrella.admin, "not staff": outsider}.get(who):
        client.force_login(user)
    elif who == "former admin":
        client.force_login(acme.admin)
        acme.workspace.memberships.get(user=acme.admin).delete()
        secrets = secrets - {acme.admin.username}
    elif who == "member":
        client.force_login(User.objects.get(username=bob))
        secrets = secrets - {bob}
    before = database()
    for sent, name, response in responses(client, belongings):
        assert response.status_code < 500, (name, sent)
        asks = {"Acme", acme.admin.username} if (who, name) == ("member", "index") else set()
        assert not leaked(sent, response, secrets - asks), (name, sent)
        if who == "member" and name.startswith(OF_ADMINS):
            assert response.status_code in (403, 404, 405), (name, sent)
    assert database() == before


# What such a POST does for operators.
OF_OPERATORS = (
    *(f"auth_user_{page}" for page in ("change", "activate", "deactivate", "password")),
    *(f"workspaces_workspace_{page}" for page in ("rename", "suspend", "plan", "invite")),
)
# What only a workspace's admins change.
OF_ADMINS = ("apikeys_", "webhooks_")
# What support staff and operators see of webhooks; all else is refused.
SEEN = (
    *(f"webhooks_endpoint_{page}" for page in ("changelist", "change")),
    "webhooks_delivery_changelist",
)
# Where support staff and operators read what a key is called, as a log has it.
LOGS = ("audit_", "usage_", "documents_", "index", "search")


@pytest.mark.parametrize("who", ["support", "operator"])
def test_admin_shows_support_and_operators_webhooks_and_no_keys_and_lets_them_change_nothing(
    belongings: Belongings, acme: Tenant, who: str
) -> None:
    client = Client(raise_request_exception=False)
    client.force_login({"support": staff.support, "operator": staff.operator}[who]())
    before = database()
    of_keys = {*belongings.ids["apikeys_apikey"], *belongings.of_keys}
    own = OF_OPERATORS if who == "operator" else ()
    for sent, name, response in responses(client, belongings, own):
        assert response.status_code < 500, (name, sent)
        assert not leaked(sent, response, belongings.hidden), (name, sent)
        assert not leaked(sent, response, {staff.KEYS}), (name, sent)
        if not name.startswith(LOGS):
            assert not leaked(sent, response, of_keys), (name, sent)
        writes = response.wsgi_request.method != "GET"
        closed = ("apikeys_", "auth_user_") if who == "support" else "apikeys_"
        if name.startswith(closed) or (name.startswith(OF_ADMINS) and writes):
            assert response.status_code in (403, 404, 405), (name, sent)
        elif name.startswith(OF_ADMINS) and name not in SEEN:
            assert response.status_code in (301, 302, 403, 404), (name, sent)
    assert database() == before


def normal(response: Any, sent: str) -> tuple[int, str]:
    """A response without what differs from request to request."""
    text = response.content.decode().replace(f"/{sent}/", "/ID/")
    text += response.headers.get("Location", "")
    return response.status_code, re.sub(TOKENS, "", text)


def test_admin_shows_an_object_of_acme_like_one_that_does_not_exist(
    belongings: Belongings, umbrella: Tenant
) -> None:
    client = staff.signed_in(umbrella.admin)
    for name in names():
        if "object_id" not in parts_of(name):
            continue
        theirs = belongings.ids[model_of(name)]
        unknown = UNKNOWN_UUID if "-" in theirs[0] else UNKNOWN_NUMBER
        for method in (client.get, client.post):
            found = set()
            for each in (unknown, *theirs):
                client.cookies.pop("messages", None)  # of the request before
                response = method(reverse(f"admin:{name}", args=[each]), {"confirmed": "yes"})
                found.add(normal(response, each))
            assert len(found) == 1, name
    for model in LOG_MODELS:
        found = set()
        for each in (UNKNOWN_NUMBER, *belongings.ids[model]):
            response = client.get(reverse(f"admin:{model}_changelist"), {"open": each})
            found.add(normal(response, each))
        assert [status for status, _ in found] == [404], model


def test_admin_is_tried_with_every_kind_of_object() -> None:
    tried = "Workspace Membership Invitation ApiKey RefusedRequest Document Recipient StoredFile"
    tried += " AuditEntry Endpoint Delivery Attempt"
    without_pages = "ConfirmedAddress DocumentCount Mail NoMails Session KeyUsage Outdated"
    without_pages += " Searchable Leaf Subtree Checkpoint Event Generation"
    folders = ("workspaces", "apikeys", "documents", "audit", "events")
    ours = {m.__name__: m for m in apps.get_models() if m.__module__.startswith(folders)}
    assert set(ours) == {*tried.split(), *without_pages.split()}
    assert not [name for name in without_pages.split() if admin.site.is_registered(ours[name])]


# Where axe looks at a page, in turn; the tests of the main pages look in more of them.
TURNS = ({"wide": "light"}, {"phone": "dark"}, {"tablet": "dark"}, {"narrow": "light"})


def shape_of(response: Any) -> str:
    """The elements of a page's main part with their classes; "" if the response is no page."""
    if response.status_code != 200 or "text/html" not in response.headers["Content-Type"]:
        return ""
    [main] = re.findall("<main.*</main>", response.content.decode(), re.DOTALL)
    assert "---------" not in main
    return str(re.findall(r'<(\w+)|class="([^"]*)"', main))


@pytest.mark.parametrize("together", [("admin", "member"), ("operator", "support")])
def test_admin_pages_fit_are_accessible_and_change_nothing_when_they_are_opened(
    belongings: Belongings, acme: Tenant, browser: Browser, together: tuple[str, str]
) -> None:
    """The browser opens one of several pages that have the same elements."""
    used(acme.key.pk, acme.workspace.pk, ok=1190, errors=8, limited=6, downloads=36)
    users = {
        "admin": lambda: acme.admin,
        "member": lambda: User.objects.get(username="bob@acme.example"),
        "support": staff.support,
        "operator": staff.operator,
    }
    pages = {name: addresses(name, belongings.ids.get(model_of(name), []))[:1] for name in names()}
    turns, seen = itertools.cycle(TURNS), {""}
    for who in together:
        user = users[who]()
        client = staff.signed_in(user)
        browser.log_in(user)
        before = database()
        for name, urls in {**pages, "system": [reverse("admin:system")]}.items():
            for url in urls:
                shape = shape_of(client.get(url))
                if shape not in seen:
                    seen.add(shape)
                    browser.open(url)
                    browser.check_layout(f"{who}-{name}", next(turns))
        assert database() == before, who
