"""What users are told where an address is not right, or a page is refused."""

import re
from typing import Any

import pytest
from django.test import Client

from events.webhooks.models import Endpoint
from tests.support import factories, staff
from tests.support.cast import page_of
from tests.support.factories import Tenant
from tests.support.staff import DOCUMENTS, HISTORY, asked, body, happened, of, signed_in
from tests.support.usage import refused
from tests.support.webhooks import endpoint, failed


@pytest.mark.parametrize("path", [staff.WORKSPACES, staff.ACCOUNTS, staff.HOOKS])
def test_list_refuses_a_filter_that_it_does_not_offer(desk: Client, path: str) -> None:
    for query in ("password__startswith=a", "secret__startswith=a", "id=x", "_to_field=password"):
        assert desk.get(f"{path}?{query}").status_code == 400, query


def test_error_pages_have_a_policy_and_show_nothing_of_it_without_signing_in(acme: Tenant) -> None:
    stranger = Client(enforce_csrf_checks=True)
    stranger.force_login(factories.user("mallory@acme.example"))  # no staff
    for status, said, response in (
        (200, "Forgot your password?", Client().get("/admin/login/")),
        (403, "Nothing was changed", stranger.post("/admin/login/")),
        (404, "Page not found", stranger.get("/nowhere")),
    ):
        html = body(response)
        assert response.status_code == status
        assert "frame-ancestors 'none'" in response["Content-Security-Policy"]
        assert said in html
        assert 'class="account"' not in html
        assert "mallory" not in html


@pytest.mark.parametrize(
    "path", [staff.WORKSPACES, HISTORY, DOCUMENTS, staff.HOOKS, staff.DELIVERIES]
)
@pytest.mark.parametrize("text", ["%00", "9" * 40, "%ED%A0%80"])
def test_lists_survive_any_text(desk: Client, path: str, text: str) -> None:
    for name in ("plan__exact", "state__exact", "q", "p", "workspace_id__exact", "after"):
        response = desk.get(f"{path}?{name}={text}", follow=True)
        assert response.status_code in (200, 400), name


TURNED = "\u202e"  # what follows it on the line is shown from right to left


def not_isolated(html: str) -> list[str]:
    """The texts that turn what is beside them: nothing is beside a title, or a cell's only text."""
    html = re.sub(r"(?s)<(bdi|title)\b.*?</\1>", "isolated", html)
    html = re.sub(r"<(td|th)\b[^>]*>(<[^>]*>|\s)*[^<>]*(<[^>]*>|\s)*</\1>", "", html)
    return [text for text in re.split("<[^>]*>", html) if TURNED in text]


def test_pages_isolate_texts_of_others(
    acme: Tenant, ada: Client, sam: Client, desk: Client
) -> None:
    """A title or a name, whatever its script and marks, changes only itself."""
    type(acme.key).objects.update(name=f"{TURNED}key")
    type(acme.admin).objects.update(first_name=f"{TURNED}Ada")
    acme.key.refresh_from_db()
    document = factories.document(acme.workspace, title=f"{TURNED}title", file_name=f"{TURNED}.pdf")
    person = {"name": f"{TURNED}Ann", "email": f"{TURNED}@example.com", "decline_reason": TURNED}
    times = {f"{each}_at": document.created_at for each in ("sent", "viewed", "declined")}
    factories.recipient(document, "SIGNER", "DECLINED", **person, **times)
    key: dict[str, Any] = {**vars(acme.key.snapshot()), "user_agent": TURNED}
    of_document: dict[str, Any] = vars(document.snapshot())
    [entry] = happened(**key, **of_document, person=TURNED, member=TURNED, detail=TURNED)
    [refusal] = refused(**key, path=TURNED)
    hook = endpoint(acme)
    Endpoint.objects.update(label=f"{TURNED}hook", disabled_reason=TURNED, enabled=False)
    objects = (entry, refusal, document, acme.key, acme.workspace, hook, failed(hook), acme.admin)
    lists = {page_of(each).replace(f"{each.pk}/change/", "").split("?")[0] for each in objects}
    urls = [staff.START, *sorted(lists), *map(page_of, objects)]
    urls += [f"{HISTORY}?document_id__exact={document.pk}", page_of(acme.key, "revoke")]
    seen = 0
    for client in (ada, sam, desk):
        for url in urls:
            html = client.get(url).content.decode()
            assert not_isolated(html) == [], url
            seen += TURNED in html
    assert seen > 20


def test_pages_ask_as_little_for_an_admin_of_a_thousand_workspaces(
    acme: Tenant, sam: Client, desk: Client
) -> None:
    hook = endpoint(acme)
    delivery, document = failed(hook), factories.document(acme.workspace)
    [entry] = happened(**of(acme.workspace))
    [refusal] = refused(**of(acme.workspace))
    lists = (staff.START, HISTORY, DOCUMENTS, staff.REFUSED, staff.DELIVERIES, staff.HOOKS)
    objects = (hook, document, entry, refusal, delivery, acme.workspace)
    urls = [*lists, *map(page_of, objects)]
    of_keys = [staff.KEYS, staff.NEW_KEY, page_of(acme.key)]
    client = signed_in(acme.admin)
    alone = {url: len(asked(client, url)) for url in (*urls, *of_keys)}
    assert {url: count for url, count in alone.items() if count > 30} == {}
    for other in (sam, desk):
        for url in urls:
            assert len(asked(other, url)) <= 30, url
    others = staff.admin_of_more(acme.admin, 999)
    for url in alone:
        queries = asked(client, url)
        assert len(queries) <= alone[url] + 1, url
        for sql in queries:
            assert others[0].pk.hex not in sql.replace("-", ""), url  # lists have no hyphens
