"""GET /api/v1/me: which workspace and key a request uses, with document counts by status."""

from documents.models import DocumentStatus
from tests.support import factories
from tests.support.client import compact, golden
from tests.support.factories import Tenant


def test_me_is_the_whole_expected_body(acme: Tenant, umbrella: Tenant) -> None:
    for number, status in enumerate(DocumentStatus.values, 1):
        if status != "COMPLETED":
            factories.listed(acme.workspace, number, status=status)
    factories.document(acme.workspace, "COMPLETED")
    for status in ("DRAFT", "SENT"):
        factories.listed(
            acme.workspace, 3, status=status, deleted_at=factories.at("2026-03-01 00:00:00")
        )
        factories.listed(umbrella.workspace, 3, status=status)
    response = acme.get("/me")
    assert response.status == 200
    assert response.json() == golden("me")
    assert response.body == compact(golden("me"))


def test_me_of_each_key_is_its_own_workspace_and_name(acme: Tenant, umbrella: Tenant) -> None:
    responses = [tenant.get("/me").json()["data"] for tenant in (acme, umbrella)]
    assert [response["workspace"]["name"] for response in responses] == ["Acme", "Umbrella"]
    assert [response["key"]["name"] for response in responses] == ["Acme sync", "Umbrella sync"]


def test_me_has_no_parameters(acme: Tenant) -> None:
    for query in ("limit=0", "status=&status=", "cursor=%00", "%FF=%FF", "format=xml", "_method=X"):
        assert acme.get(f"/me?{query}").same() == acme.get("/me").same(), query
