"""The audit log in the admin: who sees what of it, filters, searches, and what it refuses."""

from collections.abc import Callable
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import Action, AuditEntry
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.staff import (
    EXPORT,
    HISTORY,
    body,
    errors,
    happened,
    ids,
    of,
    operator,
    seen,
    shown,
    signed_in,
    support,
)
from workspaces.models import Membership


def entry_url(entry: AuditEntry, page: str = "change") -> str:
    return reverse(f"admin:audit_auditentry_{page}", args=[entry.pk])


# --- Who sees what


@pytest.mark.parametrize("who", [support, operator])
def test_audit_list_shows_support_and_operators_the_entries_of_every_workspace(
    acme: Tenant, umbrella: Tenant, who: Callable[[], User]
) -> None:
    [nobody_s] = happened(action=Action.LOGIN, person="a@b.example")
    client = signed_in(who())
    whose = {entry.workspace_name for entry in shown(client).result_list}
    assert whose == {"Acme", "Umbrella", ""}
    assert client.get(entry_url(nobody_s)).status_code == 200


def test_audit_list_shows_an_admin_the_own_workspace_s(
    acme: Tenant, umbrella: Tenant, ada: Client
) -> None:
    happened(action=Action.LOGIN, person=acme.admin.username)
    assert [entry.workspace_name for entry in shown(ada).result_list] == ["Acme"]
    [own] = AuditEntry.objects.filter(workspace_id=acme.workspace.id)
    [foreign] = AuditEntry.objects.filter(workspace_id=umbrella.workspace.id)
    assert "Acme sync" in body(ada.get(entry_url(own)))
    for page in ("change", "history", "delete"):
        response = ada.get(entry_url(foreign, page), follow=True)
        assert "Umbrella" not in body(response)


def test_audit_list_of_several_workspaces(acme: Tenant, umbrella: Tenant, freebie: Tenant) -> None:
    Membership.objects.create(workspace=umbrella.workspace, user=acme.admin, role="ADMIN")
    Membership.objects.create(workspace=freebie.workspace, user=acme.admin, role="MEMBER")
    tenants = (acme, umbrella, freebie)
    happened(120, **{n: lambda i, n=n: of(tenants[i % 3].workspace)[n] for n in of(acme.workspace)})
    ada = signed_in(acme.admin)
    mine = AuditEntry.objects.filter(
        workspace_id__in=[acme.workspace.id, umbrella.workspace.id]
    ).order_by("-created_at", "-id")
    assert walk(ada) == ids(list(mine))
    only = seen(ada, f"?workspace_id__exact={umbrella.workspace.id}")
    assert only == ids([e for e in mine if e.workspace_id == umbrella.workspace.id])[:50]


@pytest.mark.parametrize("who", ["former admin", "former support"])
def test_audit_list_is_closed_to_people_who_lost_the_right_to_it(acme: Tenant, who: str) -> None:
    """`test_admin_isolation.py` has everybody else."""
    user = acme.admin if who == "former admin" else support()
    client = signed_in(user)
    assert client.get(HISTORY).status_code == 200
    Membership.objects.filter(user=user).delete()
    user.groups.clear()
    entry = AuditEntry.objects.earliest("id")
    for url in (HISTORY, EXPORT, entry_url(entry)):
        assert client.get(url).status_code in (302, 403)


# --- What an entry shows


def test_audit_pages_say_all_of_an_entry_and_lead_to_what_it_names(
    acme: Tenant, sam: Client
) -> None:
    document = factories.document(acme.workspace, title="Lease <b>")
    assert acme.get(f"/documents/{document.id}/download").status == 200
    [entry] = AuditEntry.objects.filter(action=Action.DOCUMENT_DOWNLOADED)
    page = reverse("admin:documents_document_change", args=[document.id])
    key = reverse("admin:apikeys_apikey_change", args=[acme.key.id])
    for url in (HISTORY, entry_url(entry)):
        html = body(sam.get(url))
        moment = f"{entry.created_at:%Y-%m-%d %H:%M:%S} UTC"
        named = (document.id, acme.key.id, entry.request_id, entry.file_sha256)
        for text in (moment, "Document downloaded", "original", "127.0.0.1", *map(str, named)):
            assert text in html
        assert f'<a href="{page}">Lease &lt;b&gt;</a>' in html
        assert acme.raw not in html
        html = body(signed_in(acme.admin).get(url))  # may open their documents and keys
        assert f'<a href="{page}">Lease &lt;b&gt;</a>' in html
        assert f'<a href="{key}">Acme sync ({acme.key.prefix}…)</a>' in html


def test_audit_entry_page_has_the_other_entries_of_its_request_in_the_workspace(
    acme: Tenant, umbrella: Tenant
) -> None:
    mine = happened(2, **of(acme.workspace), request_id="5a" * 16)
    [theirs] = happened(**of(umbrella.workspace), request_id="5a" * 16)
    for entry, other in (mine, reversed(mine)):
        html = body(signed_in(acme.admin).get(entry_url(entry)))
        assert f'href="{entry_url(other)}"' in html
        assert "(this one)" in html
        assert entry_url(theirs) not in html
    html = body(signed_in(umbrella.admin).get(entry_url(theirs)))
    assert "Entries of this request" not in html


# --- Filters


@pytest.mark.parametrize("url", [HISTORY, EXPORT])
def test_audit_search_cuts_a_pasted_raw_key_in_the_address(
    acme: Tenant, sam: Client, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    cut = f"{url}?action__exact=key.created&q={acme.key.prefix}"
    for pasted in (acme.raw, acme.bearer, f"Authorization: {acme.bearer}", f"{acme.key.prefix}…"):
        response = sam.get(f"{url}?action__exact=key.created&q={quote(pasted)}")
        assert response.status_code == 302
        assert response["Location"] == cut
    assert acme.raw not in caplog.text
    if url == HISTORY:
        [entry] = AuditEntry.objects.all()
        assert seen(sam, cut.removeprefix(HISTORY)) == [entry.id]


MALFORMED = [
    ("document_id__exact=x", "document_id__exact"),
    ("workspace_id__exact=%00", "workspace_id__exact"),
    ("action__exact=key.unknown", "action__exact"),
    ("since=yesterday", "since"),
    ("until=2026-02-30", "until"),
    ("q=a%00b", "q"),
    (f"q={'a' * 501}", "q"),
    ("within=2h", "within"),
    ("since=2026-03-02&until=2026-03-01", "__all__"),
    ("after=1.99999999999999999999", "__all__"),
    (f"before={'9' * 5000}.1", "__all__"),
    ("after=%00.%00", "__all__"),
]


def test_audit_list_names_bad_filters(acme: Tenant, sam: Client, ada: Client) -> None:
    for query, field in MALFORMED:
        assert list(errors(sam, f"?{query}")) == [field], query
    for query, field in MALFORMED[:2]:  # ids, which an admin may see or not
        assert list(errors(ada, f"?{query}")) == [field], query


# --- Pages


def walk(client: Client) -> list[int]:
    """All ids from the first page by the links to the older ones."""
    found, page = [], shown(client)
    found += ids(page.result_list)
    while page.older_url:
        page = shown(client, page.older_url)
        found += ids(page.result_list)
    return found


def test_audit_pages_are_the_same_on_the_way_back(sam: Client) -> None:
    happened(150)
    first = shown(sam)
    second = shown(sam, first.older_url)
    third = shown(sam, second.older_url)
    assert first.newer_url is None
    assert (len(third.result_list), third.older_url) == (50, None)  # exactly full
    assert ids(shown(sam, third.newer_url).result_list) == ids(second.result_list)
    back = shown(sam, second.newer_url)
    assert ids(back.result_list) == ids(first.result_list)
    assert back.newer_url is None
