"""What users are told where there is nothing to show, and where an address is not right."""

import re
from typing import Any

import pytest
from django.contrib.admin import site
from django.test import Client
from django.urls import reverse

from tests.support import factories
from tests.support.factories import Tenant
from tests.support.server import ROOT
from tests.support.staff import DOCUMENTS, HISTORY, body, happened, signed_in
from workspaces.models import Workspace

KEYS = reverse("admin:apikeys_apikey_changelist")
WORKSPACES = reverse("admin:workspaces_workspace_changelist")
ACCOUNTS = reverse("admin:auth_user_changelist")
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


# --- Addresses that ask for what a list does not know


@pytest.mark.parametrize("path", [KEYS, WORKSPACES, ACCOUNTS])
def test_changelist_with_an_unknown_filter_shows_all_and_says_so(
    acme: Tenant, desk: Client, path: str
) -> None:
    client = signed_in(acme.admin) if path == KEYS else desk
    for query in (
        "foo=bar",
        "password__startswith=a",
        "_to_field=password",
        "username__regex=(",
        "id=x",
    ):
        first = client.get(f"{path}?{query}")
        assert (first.status_code, first["Location"]) == (302, f"{path}?e=1"), query
    assert client.get(f"{path}?e=1&{query}")["Location"] == f"{path}?e=1"  # in no circle
    client.cookies.pop("messages")
    client.get(f"{path}?{query}")
    html = body(client.get(f"{path}?e=1"))
    assert html.count(NOT_KNOWN) == 1
    assert "result_list" in html
    assert NOT_KNOWN not in body(client.get(path))


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
    stranger = signed_in(factories.user("mallory@acme.example"))  # no staff
    for client in (Client(), stranger):
        html = body(client.get("/nowhere"))
        assert "Page not found" in html
        assert TOOLS not in html
        refused = Client(enforce_csrf_checks=True)
        refused.cookies = client.cookies
        html = body(refused.post("/admin/login/"))
        assert "Nothing was changed" in html
        assert TOOLS not in html
        assert "mallory" not in html


def test_admin_stylesheets_name_only_columns_that_exist() -> None:
    css = (ROOT / "config" / "static" / "config" / "admin.css").read_text()
    named = set(re.findall(r"#result_list \.field-(\w+)", css))
    assert named
    for name in named:
        assert any(
            hasattr(each, name) or name in {field.name for field in each.opts.fields}
            for each in site._registry.values()
        ), name


def test_favicon_is_the_product_s(client: Client) -> None:
    response = client.get("/favicon.ico")
    assert re.fullmatch(r"/static/config/favicon\.[0-9a-f]{12}\.svg", response["Location"])


@pytest.mark.parametrize("path", [WORKSPACES, HISTORY, DOCUMENTS])
def test_lists_survive_nul_bytes(desk: Client, path: str) -> None:
    for query in ("plan__exact=%00", "q=%00", "suspended__exact=%00", "p=%00"):
        assert desk.get(f"{path}?{query}", follow=True).status_code == 200, query
