"""The box in the header of the console: whatever is typed leads to one page."""

from urllib.parse import quote
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client

from documents.admin_list import named_in
from events.webhooks.models import Endpoint
from tests.support import factories, staff
from tests.support.cast import page_of, text_of
from tests.support.factories import Tenant, uid
from tests.support.staff import DOCUMENTS, HISTORY, body, happened, member, of, shown, signed_in
from tests.support.usage import refused
from tests.support.webhooks import endpoint, failed
from workspaces.models import Workspace


def target(client: Client, text: object) -> str:
    response = client.post(staff.SEARCH, {"q": str(text)})
    assert response.status_code == 302
    return str(response["Location"])


def test_box_leads_from_an_id_to_its_page(
    acme: Tenant, ada: Client, sam: Client, desk: Client
) -> None:
    document = factories.listed(acme.workspace, 1)[0]
    kept = [uid(59), uid(60)]
    [refusal] = refused(workspace_id=acme.workspace.pk, request_ids=kept, requests=2)
    hook = endpoint(acme)
    delivery = failed(hook)
    [entry] = happened(**of(acme.workspace), request_id="5e" * 16)
    for thing in (document, hook, acme.workspace):
        for text in (thing.pk, thing.pk.hex, str(thing.pk).upper(), f"the id {thing.pk}, sent"):
            for client in (ada, sam, desk):
                assert target(client, text) == page_of(thing)
    assert target(sam, f"GET /api/v1/documents/{document.pk}/download 404") == page_of(document)
    assert target(ada, acme.key.pk) == page_of(acme.key)
    for client in (ada, sam, desk):
        for text, row in (
            (delivery.public_event_id, delivery),
            (f"Request-Id: {entry.request_id}", entry),
            (id := uid(60).hex, refusal),
        ):
            assert target(client, text).startswith(f"{page_of(row)}&")
        assert body(client.get(target(client, id))).count(id) > 1  # also among the filters


def test_box_says_in_a_list_that_an_id_is_not_known(sam: Client) -> None:
    id = uid(9)
    assert target(sam, id) == f"{DOCUMENTS}?q={id}"
    assert "There is no such document" in body(sam.get(target(sam, id)))
    assert target(sam, id.hex) == f"{staff.REFUSED}?request_id__exact={id.hex}"
    assert "Refused requests are listed after some seconds" in body(sam.get(target(sam, id.hex)))
    event = f"evt_{id.hex}"
    assert target(sam, event) == f"{staff.DELIVERIES}?event_id__exact={id.hex}"
    assert target(sam, "dtd_Ab3dEf9h") == f"{HISTORY}?key_prefix__exact=dtd_Ab3dEf9h"
    assert "No key of this service is known" in body(sam.get(target(sam, "dtd_Ab3dEf9h")))
    [row] = refused(status=401, key_prefix="dtd_Ab3dEf9h")
    assert target(sam, f"dtd_Ab3dEf9h{'x' * 32}").startswith(f"{page_of(row)}&")
    for text in ("198.51.100.7", "2001:DB8::1"):
        assert target(sam, text) == f"{HISTORY}?address__exact={quote(text.lower(), safe='')}"


def test_box_leads_from_a_key_to_its_page_and_puts_no_whole_key_in_a_url(
    acme: Tenant, ada: Client, sam: Client
) -> None:
    other, raw = factories.issue(acme.workspace, "Other", acme.admin)
    for text in (acme.raw, f"Bearer {acme.raw}", acme.key.prefix, f"{acme.key.prefix}…"):
        assert target(ada, text) == page_of(acme.key)
        [address] = {target(sam, text)}
        assert address == f"{HISTORY}?key_id__exact={acme.key.pk}" or "open=" in address
    for part in (acme.key.prefix[:8], acme.key.name.upper()[1:], str(acme.key)):
        assert target(ada, part) == page_of(acme.key)
    assert target(ada, f"is dtd_ ok? {acme.raw}") == page_of(acme.key)
    assert target(ada, f"dtd_{'x' * 40} or {raw}") == page_of(other)
    assert target(ada, f"{'x' * 495} {acme.raw}") == f"{DOCUMENTS}?q={'x' * 495}+dtd_"
    other.delete_by(by=acme.admin)
    assert f"key_id__exact={other.pk}" in target(ada, raw)
    assert ada.get(staff.SEARCH, {"q": acme.raw})["Location"] == staff.START


def test_box_leads_from_a_person_an_address_a_host_and_a_name_to_one_page(
    acme: Tenant, umbrella: Tenant, ada: Client, sam: Client, desk: Client
) -> None:
    assert target(desk, acme.admin.username.upper()) == page_of(acme.admin)
    for client in (sam, ada):
        assert target(client, acme.admin.username) == page_of(acme.workspace)
    both = member(acme.workspace, "both@x.example")
    umbrella.workspace.memberships.create(user=both, role="MEMBER")
    assert target(sam, "both@x.example") == f"{staff.WORKSPACES}?q=both%40x.example"
    assert target(ada, "both@x.example") == page_of(acme.workspace)
    [left] = happened(**of(acme.workspace), person="left@x.example", address="198.51.100.7")
    rows = refused(2, **of(acme.workspace), address=["198.51.100.7", "2001:db8::7"].__getitem__)
    for client in (ada, sam):
        for text, row in (
            ("Left@x.example", left),
            ("198.51.100.7", left),
            ("2001:db8::7", rows[1]),
        ):
            assert target(client, text).startswith(f"{page_of(row)}&")
    [without_a_key] = refused(address="2001:db8:1::/64")
    assert target(sam, "2001:db8:1::5").startswith(f"{page_of(without_a_key)}&")
    hook, deleted = endpoint(acme), endpoint(acme)
    Endpoint.objects.update(url="https://Hooks.billing-2.example/secret?token=secret")
    gone = {"deleted_at": deleted.created_at, "url": "https://gone.example/"}
    Endpoint.objects.filter(pk=deleted.pk).update(**gone)
    assert target(ada, "gone.example") == f"{DOCUMENTS}?q=gone.example"
    for text in ("hooks.billing-2.example", "https://hooks.billing-2.example/secret"):
        assert target(ada, text) == target(sam, text) == page_of(hook)
    assert "secret" not in target(sam, "https://hooks.billing-3.example/secret")
    name = acme.workspace.name.upper()
    assert (
        target(ada, name) == target(sam, name) == target(sam, name[:3]) == page_of(acme.workspace)
    )
    of_both = str(acme.workspace.pk)[:8]
    assert target(sam, of_both) == f"{staff.WORKSPACES}?q={of_both}"
    Workspace.objects.create(name=f"{acme.workspace.name} Two")
    assert target(desk, name) == f"{staff.WORKSPACES}?q={name}"


def test_box_looks_for_anything_else_as_a_title(
    acme: Tenant, umbrella: Tenant, ada: Client
) -> None:
    lease, other = factories.listed(acme.workspace, 2, title=lambda n: f"Lease {n}")
    factories.recipient(lease, email="tenant@x.example", name="Tenant")
    here = f"workspace_id__exact={acme.workspace.pk}"
    assert target(ada, "lease") == f"{DOCUMENTS}?q=lease&{here}"
    assert target(ada, "lease 0") == target(ada, "tenant@x.example") == page_of(lease)
    assert target(ada, "Tenant") == f"{DOCUMENTS}?q=Tenant"
    said = "No document of Acme has “Tenant” in its title"
    assert said in body(ada.get(target(ada, "Tenant")))
    member(umbrella.workspace, acme.admin.username, "ADMIN")
    theirs = factories.document(umbrella.workspace, title=f"Deed of the {acme.key.name}")
    assert target(ada, acme.key.name) == page_of(acme.key)  # first in what is looked at
    assert target(ada, "deed") == page_of(theirs)
    html = body(ada.get(page_of(theirs)))
    assert "You look at Umbrella now. Back to Acme" in text_of(html)
    assert f'href="{staff.START}?{here}"' in html
    assert "Back to Umbrella" in body(ada.get(page_of(lease)))
    names = {factories.issue(umbrella.workspace, f"CRM {n}", acme.admin)[0].name for n in (1, 2)}
    assert target(ada, "crm") == f"{staff.KEYS}?q=crm"
    assert {each.name for each in staff.shown(ada, "?q=crm", staff.KEYS).result_list} == names


def test_box_leads_an_admin_from_a_member_s_e_mail_to_the_documents_for_that_recipient(
    acme: Tenant, ada: Client
) -> None:
    """Members are on the workspace's page, which is in the menu."""
    first, second = factories.listed(acme.workspace, 2)
    login = acme.admin.username
    factories.recipient(first, email=login)
    assert target(ada, login) == page_of(first)
    factories.recipient(second, email=login.upper())
    here = f"workspace_id__exact={acme.workspace.pk}"
    assert target(ada, login) == f"{DOCUMENTS}?q={quote(login)}&{here}"
    assert shown(ada, target(ada, login).removeprefix(DOCUMENTS), DOCUMENTS).result_list


def pages_of_alike(*tenants: Tenant) -> list[str]:
    """The pages of documents that only their workspace tells apart."""
    documents = [factories.document(each.workspace, title="Mutual NDA") for each in tenants]
    for document in documents:
        factories.recipient(document, email="tenant@x.example")
    return [page_of(document) for document in documents]


@pytest.mark.parametrize(
    "text",
    [
        "Mutual NDA Acme",
        "acme: mutual",
        "ACME tenant@x.example",
        "mutual – (Acme)",
        "<tenant@x.example>, at Acme",
    ],
)
def test_box_understands_a_customer_s_name_beside_a_title_or_a_recipient(
    acme: Tenant, umbrella: Tenant, sam: Client, text: str
) -> None:
    page, _ = pages_of_alike(acme, umbrella)
    found = sam.post(staff.SEARCH, {"q": text}, follow=True)
    assert found.redirect_chain[-1][0] == page
    assert sam.get(DOCUMENTS, {"q": "acme"})["Location"] == page
    Workspace.objects.filter(pk=acme.workspace.pk).update(name="Acme (UK)")
    [last] = sam.post(staff.SEARCH, {"q": f"{text} (UK)"}, follow=True).redirect_chain[-1:]
    assert (last[0] == page) == text.endswith("Acme")
    for unknown in ("zzzz nothing", "evt_1", "Mutual NDA Acmeee"):
        html = body(sam.post(staff.SEARCH, {"q": unknown}, follow=True))
        assert "No customer’s name is in it." in html


@pytest.mark.django_db
def test_customer_s_name_beside_a_title_is_found_by_an_index() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # which the few rows of a test are worth
    assert "workspace_name" in named_in("Mutual NDA Customer 7").explain()


@pytest.mark.parametrize("text", ["Mutual NDA", "tenant@x.example"])
def test_support_names_the_customer_of_a_title_or_a_recipient(
    acme: Tenant, umbrella: Tenant, sam: Client, text: str
) -> None:
    """Two fields and two pages."""
    page, _ = pages_of_alike(acme, umbrella)
    asked = sam.post(staff.SEARCH, {"q": text}, follow=True)
    assert f"Which customer’s “{text}”?" in body(asked)
    assert 'name="customer"' in body(asked)
    for customer in ("acme", acme.admin.username.upper(), str(acme.workspace.pk)):
        named = sam.get(DOCUMENTS, {"q": text, "customer": customer})
        assert named["Location"] == page
    factories.listed(acme.workspace, 1, title="Mutual NDA")
    named = sam.get(DOCUMENTS, {"q": "mutual", "customer": "acme"})
    assert named["Location"] == f"{DOCUMENTS}?q=mutual&workspace_id__exact={acme.workspace.pk}"
    Workspace.objects.create(name=f"{acme.workspace.name} Two")
    html = body(sam.get(DOCUMENTS, {"q": text, "customer": "acme"}))
    assert f"workspace_id__exact={acme.workspace.pk}" in html


def test_box_leads_to_nothing_of_another_workspace(acme: Tenant, umbrella: Tenant) -> None:
    document = factories.listed(acme.workspace, 1, title="Lease 77")[0]
    kept = [uid(59), uid(60)]
    [refusal] = refused(**of(acme.workspace), request_ids=kept, requests=2, address="203.0.113.7")
    hook = endpoint(acme)
    happened(**of(acme.workspace), person="left@x.example", address="198.51.100.7")
    texts = {
        uuid4(): (document.pk, acme.key.pk, acme.workspace.pk, hook.pk),
        uuid4().hex: (refusal.request_ids[0].hex,),
        f"evt_{uuid4().hex}": (failed(hook).public_event_id,),
        "dtd_00000000": (acme.key.prefix,),
        "nobody@x.example": (acme.admin.username, "left@x.example"),
        "198.51.100.8": ("198.51.100.7", "203.0.113.7"),
        "Nothing": (acme.workspace.name, "Lease", "hooks.example"),
    }
    stranger = signed_in(umbrella.admin)
    for unknown, theirs in texts.items():
        for text in theirs:
            like = target(stranger, unknown).replace(quoted(unknown), quoted(text))
            assert target(stranger, text) == like
            assert document.title not in body(stranger.get(like))


def quoted(text: object) -> str:
    found = quote(str(text), safe="")
    return found.removeprefix("evt_")
