"""What users are told where there is nothing to show, and where an address is not right."""

from html.parser import HTMLParser
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from events.webhooks.models import Endpoint
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.staff import DOCUMENTS, HISTORY, body, happened, signed_in
from tests.support.usage import refused, used
from tests.support.webhooks import endpoint, failed
from workspaces.models import Workspace

KEYS = reverse("admin:apikeys_apikey_changelist")
WORKSPACES = reverse("admin:workspaces_workspace_changelist")
ACCOUNTS = reverse("admin:auth_user_changelist")
LISTS = (
    "apikeys_apikey",
    "audit_auditentry",
    "auth_user",
    "usage_refusedrequest",
    "webhooks_endpoint",
    "workspaces_workspace",
)
UNKNOWN = "00000000-0000-4000-8000-00000000dead"
NOT_KNOWN = "That filter does not exist here."
TOOLS = 'class="button account"'


def text_in_place(client: Client, query: str = "", path: str = HISTORY) -> str:
    """What the list says in place of its rows."""
    html = body(client.get(f"{path}{query}"))
    assert html.count('class="empty"') == 1
    return html.partition('<div class="empty"><p>')[2].partition("<")[0]


# --- Lists without rows


def test_changelist_without_rows_says_why(sam: Client) -> None:
    assert text_in_place(sam) == "There are no entries yet."
    assert text_in_place(sam, "?q=nobody").startswith("Nothing matches. Looked for: Login “nobody”")
    happened(1)
    assert text_in_place(sam, "?after=0.1") == "There is nothing older."
    asked = "Search for the id of a document, or choose a workspace."
    assert text_in_place(sam, path=DOCUMENTS) == asked
    assert text_in_place(sam, f"?q={UNKNOWN}", DOCUMENTS).startswith("No document has this id.")
    assert text_in_place(sam, f"?after=0.{UNKNOWN}", DOCUMENTS) == asked


# --- Texts of others

CELLS = ("td", "th")
TURNED = "\u202e"  # what follows it on the line is shown from right to left


class Isolation(HTMLParser):
    """Collects texts outside of <bdi> that turn what stands beside them."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.found = [""], set[str]()
        self.cell: list[str] = []

    def handle_starttag(self, tag: str, attributes: Any) -> None:
        if tag in CELLS:
            self.cell = []
        if tag not in ("br", "img", "input", "link", "meta"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in CELLS and len(self.cell) > 1:
            self.found |= {text for text in self.cell if TURNED in text}

    def handle_data(self, data: str) -> None:
        # A heading, a crumb or a message is a line of its own, and so is a cell with one text.
        text = f"{self.open[-3:]}: {data.strip()}"
        if "bdi" in self.open:
            text = text.replace(TURNED, "")
        if set(CELLS) & set(self.open):
            self.cell += [text] if data.strip() else []
        elif TURNED in text and not {"title", "h1"} & set(self.open):
            self.found.add(text)


@pytest.mark.slow
def test_pages_isolate_texts_of_others(acme: Tenant, sam: Client, desk: Client) -> None:
    """A title or a name, in whatever script and with whatever marks, changes only itself."""
    type(acme.key).objects.update(name=f"{TURNED}key")
    type(acme.admin).objects.filter(pk=acme.admin.pk).update(first_name=f"{TURNED}Ada")
    acme.key.refresh_from_db()
    document = factories.document(acme.workspace, title=f"{TURNED}title", file_name=f"{TURNED}.pdf")
    for number, status in enumerate(("SIGNED", "DECLINED")):
        names = {"name": f"{TURNED}Ann", "email": f"{TURNED}{number}@example.com"}
        times = {f"{each}_at": document.created_at for each in ("sent", "viewed", "declined")}
        factories.recipient(document, "SIGNER", status, decline_reason=TURNED, **names, **times)
    of_entry = {**vars(acme.key.snapshot()), **vars(document.snapshot())}
    [entry] = happened(
        **of_entry,
        person=f"{TURNED}@example.com",
        member=f"{TURNED}@example.com",
        detail=f"{TURNED}reason",
        user_agent=TURNED,
        request_id="ab" * 16,
    )
    happened(action="document.imported", person=TURNED, detail=TURNED, document_id=document.pk)
    key: dict[str, Any] = {
        "key_id": acme.key.pk,
        "key_name": acme.key.name,
        "key_prefix": acme.key.prefix,
    }
    [refusal] = refused(
        **key, workspace_id=acme.workspace.pk, path=TURNED, user_agent=TURNED, status=401
    )
    used(acme.key.pk, acme.workspace.pk, ok=1, limited=1)
    hook = endpoint(acme)
    Endpoint.objects.update(label=f"{TURNED}hook", disabled_reason=TURNED, enabled=False)
    delivery = failed(hook)
    pages = [
        reverse("admin:index"),
        *map(reverse, (f"admin:{name}_changelist" for name in LISTS)),
        f"{HISTORY}?document_id__exact={document.pk}",
        f"{HISTORY}?workspace_id__exact={acme.workspace.pk}&key_id__exact={acme.key.pk}",
        f"{DOCUMENTS}?workspace={acme.workspace.pk}",
        f"{reverse('admin:search')}?q={acme.workspace.pk}",
        reverse("admin:audit_auditentry_change", args=[entry.pk]),
        reverse("admin:usage_refusedrequest_change", args=[refusal.pk]),
        reverse("admin:documents_document_change", args=[document.pk]),
        reverse("admin:apikeys_apikey_change", args=[acme.key.pk]),
        reverse("admin:apikeys_apikey_revoke", args=[acme.key.pk]),
        reverse("admin:workspaces_workspace_change", args=[acme.workspace.pk]),
        reverse("admin:webhooks_endpoint_change", args=[hook.pk]),
        reverse("admin:webhooks_delivery_change", args=[delivery.pk]),
        reverse("admin:auth_user_change", args=[acme.admin.pk]),
    ]
    found, seen = set(), 0
    for client in (signed_in(acme.admin), sam, desk):
        for page in pages:
            response = client.get(page)
            if response.status_code == 200:
                parser = Isolation()
                parser.feed(response.content.decode())
                seen += TURNED in body(response)
                found |= parser.found
    assert "\n".join(sorted(found)) == ""
    assert seen > 20


# --- Addresses that ask for what a list does not know


@pytest.mark.parametrize("path", [WORKSPACES, ACCOUNTS])
def test_changelist_with_an_unknown_filter_shows_all_and_says_so(desk: Client, path: str) -> None:
    for query in ("password__startswith=a", "_to_field=password", "username__regex=(", "id=x"):
        first = desk.get(f"{path}?{query}")
        assert (first.status_code, first["Location"]) == (302, f"{path}?e=1"), query
    assert desk.get(f"{path}?e=1&{query}")["Location"] == f"{path}?e=1"  # in no circle
    desk.cookies.pop("messages")
    desk.get(f"{path}?{query}")
    assert body(desk.get(f"{path}?e=1")).count(NOT_KNOWN) == 1
    assert NOT_KNOWN not in body(desk.get(path))


def test_changelist_with_an_unknown_page_shows_all_and_says_so(desk: Client) -> None:
    Workspace.objects.bulk_create(Workspace(name=f"Workspace {n}") for n in range(51))
    assert desk.get(f"{WORKSPACES}?p=2").status_code == 200
    assert desk.get(f"{WORKSPACES}?p=3")["Location"] == f"{WORKSPACES}?e=1"


# --- Pages that refuse


def refusals(client: Client, acme: Tenant) -> dict[str, Any]:
    """403 and 404 of the admin, and a form that lacks its token."""
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = client.cookies
    return {
        "Permission denied": client.get(ACCOUNTS),
        "Page not found": client.get("/admin/nowhere/"),
        "Nothing was changed": strict.post(KEYS),
    }


def test_error_pages_have_the_header_of_the_admin(acme: Tenant, sam: Client) -> None:
    for said, response in refusals(sam, acme).items():
        html = body(response)
        assert said in html
        assert TOOLS in html
        assert "sam@support.example" in html
        assert "frame-ancestors" in response["Content-Security-Policy"]
        assert "no-store" in response["Cache-Control"]


def test_error_pages_show_nothing_of_it_without_signing_in(acme: Tenant) -> None:
    stranger = Client(enforce_csrf_checks=True)
    stranger.force_login(factories.user("mallory@acme.example"))  # no staff
    for said, response in (
        ("Page not found", stranger.get("/nowhere")),
        ("Nothing was changed", stranger.post("/admin/login/")),
    ):
        html = body(response)
        assert said in html
        assert TOOLS not in html
        assert "mallory" not in html


@pytest.mark.parametrize("path", [WORKSPACES, HISTORY, DOCUMENTS])
def test_lists_survive_nul_bytes(desk: Client, path: str) -> None:
    for query in ("plan__exact=%00", "q=%00", "suspended__exact=%00", "p=%00"):
        assert desk.get(f"{path}?{query}", follow=True).status_code == 200, query
