"""What users are told where an address is not right, or a page is refused."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.support import factories
from tests.support.factories import Tenant
from tests.support.staff import DOCUMENTS, HISTORY, body

WORKSPACES = reverse("admin:workspaces_workspace_changelist")
ACCOUNTS = reverse("admin:auth_user_changelist")
NOT_KNOWN = "That filter does not exist here."
TOOLS = 'class="button account"'


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
