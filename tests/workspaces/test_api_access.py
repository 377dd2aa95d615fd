"""API access: 403 for a suspended workspace, then 402 for a plan without the API."""

import pytest
from django.conf import settings

from apikeys.throttling import REQUESTS_PER_MINUTE
from tests.support import factories
from tests.support.cast import used_up
from tests.support.client import get, golden
from tests.support.factories import Tenant
from workspaces.models import Workspace

ID = factories.uid(1)
FILE = f"/documents/{ID}/download"
ENDPOINTS = ("/me", "/documents", f"/documents/{ID}", FILE, "/search", "/events")


def change(tenant: Tenant, **fields: object) -> None:
    Workspace.objects.filter(pk=tenant.workspace.pk).update(**fields)


def test_api_access_of_a_suspended_workspace_is_403(frozen: Tenant) -> None:
    for path in (*ENDPOINTS, "/nothing"):
        change(frozen, suspended=True)
        response = frozen.get(path)
        assert response.status == 403, path
        assert response.json() == golden("suspended")
        change(frozen, suspended=False)
        assert frozen.get(path).status in (200, 404)


def test_api_access_with_a_plan_without_the_api_is_402(freebie: Tenant) -> None:
    for path in (*ENDPOINTS, "/nothing"):
        response = freebie.get(path)
        assert response.status == 402, path
        assert response.json() == golden("plan_required")
    assert response.json()["details"]["href"] == settings.UPGRADE_URL


@pytest.mark.parametrize(
    ("plan", "upgrade"), [("FREE", "Pro"), ("PERSONAL", "Pro"), ("LEGACY_TEAM", None), ("", None)]
)
def test_api_access_upgrade_is_pro_or_null(freebie: Tenant, plan: str, upgrade: str | None) -> None:
    change(freebie, plan=plan)
    response = freebie.get("/me")
    assert response.status == 402
    assert response.json()["details"] == {**golden("plan_required")["details"], "upgrade": upgrade}


def test_api_view_checks_in_the_order_401_429_403_402_400_404(acme: Tenant) -> None:
    """All is wrong with the first request; each further one has one thing less."""
    bad = f"/documents/{ID}/download?type=nonsense"
    change(acme, suspended=True, plan="FREE")
    spent = used_up(acme)
    assert get(f"/api/v1{bad}", f"{spent.bearer}x").status == 401
    assert spent.get(bad).status == 429
    assert acme.get(bad).status == 403
    change(acme, suspended=False)
    assert acme.get(bad).status == 402
    change(acme, plan="PRO")
    assert acme.get(bad).status == 400
    assert acme.get(f"/documents/{ID}/download").status == 404
    factories.document(acme.workspace, id=ID)
    assert acme.get(f"/documents/{ID}/download?type=signed").status == 404
    assert acme.get(f"/documents/{ID}/download").status == 200
    assert REQUESTS_PER_MINUTE == 300
