"""One search over all sections, in the header of the console."""

from django.test import Client
from django.urls import reverse

from events.webhooks.models import Endpoint
from tests.support import factories
from tests.support.cast import page_of
from tests.support.factories import Tenant
from tests.support.staff import body, signed_in
from tests.support.usage import refused
from tests.support.webhooks import endpoint

SEARCH = reverse("admin:search")


def target(client: Client, text: str) -> str:
    return str(client.get(SEARCH, {"q": text})["Location"])


def test_search_with_one_result_leads_to_its_page(acme: Tenant, sam: Client, desk: Client) -> None:
    document = factories.listed(acme.workspace, 1)[0]
    [refusal] = refused(workspace_id=acme.workspace.pk)
    assert target(sam, f"/api/v1/documents/{document.pk}") == page_of(document)
    ada = signed_in(acme.admin)
    assert target(ada, acme.key.prefix) == page_of(acme.key)
    assert target(ada, str(acme.key.pk)) == page_of(acme.key)
    workspace = page_of(acme.workspace)
    assert target(sam, str(acme.workspace.pk)) == workspace
    assert target(sam, acme.admin.username) == workspace
    hook = endpoint(acme)
    Endpoint.objects.update(label="Billing")
    Endpoint.objects.update(url="https://Hooks.billing-2.example/secret?token=secret")
    for text in ("billing", "hooks.b", "billing-2.", "https://hooks.billing-2.example/secret"):
        assert target(ada, text) == target(sam, text) == page_of(hook)
    assert sam.get(SEARCH, {"q": "secret"}).status_code == 200  # it may be a token
    request = page_of(refusal)
    assert target(desk, refusal.request_ids[0].hex) == request


def test_search_never_has_a_whole_key_in_a_url(acme: Tenant) -> None:
    client = signed_in(acme.admin)
    for response in (
        client.post(SEARCH, {"q": f"Bearer {acme.raw}"}),
        client.get(SEARCH, {"q": acme.raw}),
        client.get(SEARCH, {"q": f"is dtd_ the beginning? {acme.raw}"}),
    ):
        assert response["Location"] == f"{SEARCH}?q={acme.key.prefix}"
    assert target(client, acme.key.prefix) == page_of(acme.key)


def test_search_finds_nothing_of_another_workspace(acme: Tenant, umbrella: Tenant) -> None:
    document = factories.listed(acme.workspace, 1)[0]
    [refusal] = refused(workspace_id=acme.workspace.pk)
    stranger = signed_in(umbrella.admin)
    texts = (document.pk, acme.key.pk, acme.key.prefix, acme.workspace.pk, acme.admin.username)
    for text in (*map(str, texts), refusal.request_ids[0].hex):
        html = body(stranger.get(SEARCH, {"q": text}))
        assert 'class="panel found"' not in html
