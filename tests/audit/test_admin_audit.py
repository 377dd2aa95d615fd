"""The audit log in the admin: who sees what of it, filters, searches, and what it refuses."""

import re
from typing import Any

from django.test import Client

from audit.models import Action, AuditEntry
from tests.support import factories, staff, webhooks
from tests.support.cast import page_of, text_of
from tests.support.factories import Tenant, at, uid
from tests.support.staff import HISTORY, body, errors, happened, ids, of, seen, shown, signed_in
from workspaces.models import Membership

# --- Who sees what


def test_audit_list_shows_staff_every_workspace_and_an_admin_the_own_one(
    acme: Tenant, umbrella: Tenant, ada: Client, sam: Client, desk: Client
) -> None:
    [nobody_s] = happened(action=Action.LOGIN, person=acme.admin.username)
    for client in (sam, desk):
        whose = {entry.workspace_name for entry in shown(client).result_list}
        assert whose == {"Acme", "Umbrella", ""}
        assert client.get(page_of(nobody_s)).status_code == 200
    assert [entry.workspace_name for entry in shown(ada).result_list] == ["Acme"]
    printed = text_of(body(ada.get(f"{HISTORY}?within=7d")))
    assert f"All of Acme, Time: Last 7 days. Printed by {acme.admin}, 20" in printed
    [own] = AuditEntry.objects.filter(workspace_id=acme.workspace.id)
    assert "Acme sync" in body(ada.get(page_of(own)))
    assert ada.get(page_of(nobody_s)).status_code == 404


def test_changes_are_not_hidden_by_what_happens_to_documents(acme: Tenant, ada: Client) -> None:
    """An import of a day has thousands of entries; they are behind a chip of their own."""
    [key_made] = AuditEntry.objects.filter(workspace_id=acme.workspace.pk)
    imports = happened(30, action=Action.DOCUMENT_IMPORTED, **of(acme.workspace))
    for action in (Action.FILE_IMPORTED, Action.DOCUMENT_DOWNLOADED, Action.DOCUMENT_VIEWED):
        happened(action=action, **of(acme.workspace))
    assert ids(shown(ada, "?kind=changes").result_list) == [key_made.pk]
    assert ids(shown(ada, "?kind=imports").result_list) == ids(imports[:25])
    last = body(ada.get(staff.START)).split("Last changes")[1]
    assert page_of(key_made).replace("&", "&amp;") in last
    assert "imported" not in last
    assert f'href="{HISTORY}?kind=changes"' in last


def test_audit_list_of_an_admin_of_several_is_of_one_workspace(
    acme: Tenant, umbrella: Tenant, freebie: Tenant
) -> None:
    """The one in the URL, else the last chosen, else the first."""
    for tenant, role in ((umbrella, "ADMIN"), (freebie, "MEMBER")):
        Membership.objects.create(workspace=tenant.workspace, user=acme.admin, role=role)
    ada = signed_in(acme.admin)

    def seen_workspaces(query: str = "") -> set[str]:
        return {entry.workspace_name for entry in shown(ada, query).result_list}

    in_umbrella = f"?workspace_id__exact={umbrella.workspace.id}"
    assert seen_workspaces() == {"Acme"}
    assert seen_workspaces(in_umbrella) == {"Umbrella"}
    assert ">Umbrella ⇄</a>" in body(ada.get(HISTORY))  # the header
    [theirs] = AuditEntry.objects.filter(workspace_id=acme.workspace.id)
    assert "Acme sync" in body(ada.get(f"{HISTORY}?open={theirs.pk}"))
    assert ada.post(page_of(freebie.workspace, "switch")).status_code == 404
    assert ada.get(f"{HISTORY}?workspace_id__exact={freebie.workspace.id}").status_code == 404
    Membership.objects.filter(workspace=umbrella.workspace, user=acme.admin).delete()
    assert seen_workspaces() == {"Acme"}  # whatever the cookie says


# --- What an entry shows


def test_audit_list_opens_an_entry_and_leads_to_what_it_names(acme: Tenant, sam: Client) -> None:
    document = factories.document(acme.workspace, title="Lease <b>")
    assert acme.get(f"/documents/{document.id}/download").status == 200
    [entry] = AuditEntry.objects.filter(action=Action.DOCUMENT_DOWNLOADED)
    for client in (sam, signed_in(acme.admin)):
        html = body(client.get(page_of(entry)))
        times = (f"{entry.created_at:%a, %-d %b %Y}, UTC", f"{entry.created_at:%H:%M:%S}")
        named = (document.id, acme.key.id, entry.request_id, entry.file_sha256)
        for text in (*times, "Document downloaded", "original", "127.0.0.1", *map(str, named)):
            assert text in html
        opened = html.partition('id="open"')[2].partition('class="row"')[0]
        for text in ("Lease &lt;b&gt;", "original", acme.key.name):
            assert opened.count(text) == 1, text
        assert f'<a href="{page_of(document)}">Lease &lt;b&gt;</a>' in html
        assert entry.file_sha256 not in body(client.get(HISTORY))
        assert (f'<a href="{page_of(acme.key)}">' in html) == (client is not sam)
    link = f'<td><a href="{page_of(acme.workspace)}">Acme</a></td>'
    assert link in body(sam.get(HISTORY))


def test_audit_list_has_moments_in_the_reader_s_zone_and_names_a_webhook_by_a_link(
    acme: Tenant, sam: Client
) -> None:
    detail = "ends 2026-11-28 09:28 UTC; <b> 2026-99-99 09:28 UTC, from 2026-11-01"
    happened(action=Action.KEY_ROLLED, detail=detail)
    moment = '<time datetime="2026-11-28T09:28Z">2026-11-28 09:28 UTC</time>'
    day = "<time>2026-11-01</time>"  # which is of no zone
    assert f"ends {moment}; &lt;b&gt; 2026-99-99 09:28 UTC, from {day}" in body(sam.get(HISTORY))
    hook = webhooks.endpoint(acme)
    for label, name in (("", hook.name), ("CRM (old), Berlin", "CRM (old), Berlin")):
        detail = f"{label} {webhooks.PUBLIC_URL} ({hook.pk}): document.completed, <b>".lstrip()
        [entry] = happened(**of(acme.workspace, action=Action.WEBHOOK_CREATED, detail=detail))
        link = f'<a href="{page_of(hook)}">{name}</a>'
        for url in (HISTORY, page_of(entry)):
            html = body(sam.get(url))
            assert f"{link}: document.completed, &lt;b&gt;" in html
            assert f"({hook.pk})" not in html


def test_audit_list_says_a_login_once(sam: Client) -> None:
    """Somebody has confirmed the own address, or another one, with a link or as operator."""
    for person, detail, times in (
        ("", "ada@x.example", 1),
        ("", "new@x.example", 2),
        ("ada@x.example", "ada@x.example", 1),
        ("olga@x.example", "new@x.example", 3),
    ):
        facts = {"member": "ada@x.example", "person": person, "detail": detail}
        happened(1, action=Action.ADDRESS_CONFIRMED, **facts)
        html = body(sam.get(f"{HISTORY}?action__exact=account.address_confirmed"))
        row = text_of(html.split('class="row"')[1].partition("</tr>")[0])
        assert row.count("@x.example") == times


# --- Filters


FILTERS = [
    ("workspace_id__exact={acme}", "download"),
    ("action__exact=member.added", "member"),
    ("kind=downloads", "six download"),
    ("kind=changes", "member plan"),
    ("since=2026-02-12", "member plan"),
    ("since=2026-02-11&until=2026-02-11", "six"),
    ("since=2026-02-12&until=2026-02-12&zone=Pacific/Kiritimati", "six"),
    (f"key_id__exact={uid(3, 2)}", "download"),
    ("key_prefix__exact=dtd_abcd1234", ""),  # it has no entry but of downloads
    (f"document_id__exact={uid(8, 3)}", "six"),
    ("address__exact=2001:db8::9", "six"),
    (f"request_id__exact={'ab' * 16}", "download"),
    ("person=OLGA@ops.example", "plan"),
    ("person=olaf@umbrella.example", "member"),
    ("person=olaf", ""),
    ("person=' OR 1=1 --", ""),
    ("person=olga@ops.example&action__exact=member.added", ""),
]


def test_audit_filters_narrow_the_list(acme: Tenant, umbrella: Tenant, sam: Client) -> None:
    key = {"key_id": uid(3, 2), "key_prefix": "dtd_abcd1234"}
    facts: dict[str, dict[str, Any]] = {
        "download": of(acme.workspace, request_id="ab" * 16, document_id=uid(7, 3), **key),
        "six": of(umbrella.workspace, document_id=uid(8, 3), address="2001:db8::9"),
        "plan": of(umbrella.workspace, action="workspace.plan_changed", person="olga@ops.example"),
        "member": of(umbrella.workspace, action="member.added", member="Olaf@umbrella.example"),
    }
    names = {
        happened(created_at=at(f"2026-02-{10 + n} 14:05:33"), **fields)[0].pk: name
        for n, (name, fields) in enumerate(facts.items())
    }
    for query, found in FILTERS:
        until = "" if "until" in query else "until=2026-02-28&"
        query = query.format(acme=acme.workspace.id)
        assert [names[id] for id in seen(sam, f"?{until}{query}")] == found.split(), query


MALFORMED = [
    ("document_id__exact=x", "document_id__exact"),
    ("workspace_id__exact=x", "workspace_id__exact"),
    ("key_id__exact=1", "key_id__exact"),
    ("action__exact=key.unknown", "action__exact"),
    ("since=yesterday", "since"),
    ("until=2026-02-30", "until"),
    ("person=a%00b", "person"),
    ("zone=Mars", "zone"),
    ("since=0001-01-01", "since"),
    ("until=9999-12-31", "until"),
    ("within=2h", "within"),
]


def test_logs_have_one_place_in_the_menu_and_one_chip_each_that_keeps_the_days(
    acme: Tenant, ada: Client
) -> None:
    for url in (f"{HISTORY}?kind=changes", staff.REFUSED, staff.DELIVERIES):
        html = body(ada.get(url))
        assert re.findall(r'aria-current="true">(\w+)</a>', html)[0] == "Log"
        assert html.count('aria-current="true"') == 2
        assert "Kind: Changes" not in html
    html = body(ada.get(f"{HISTORY}?action__exact=key.revoked&within=7d"))
    assert f'href="{HISTORY}?within=7d&amp;kind=downloads"' in html  # not what happened
    [chip] = shown(ada, f"?key_id__exact={acme.key.pk}").chips
    assert chip[:2] == ("API key", f"{acme.key.prefix}… {acme.key.name}")


def test_audit_list_names_bad_filters_and_drops_empty_ones(sam: Client, ada: Client) -> None:
    for query, field in MALFORMED:
        assert list(errors(sam, f"?{query}")) == [field], query
        assert sam.get(f"{staff.EXPORT}?{query}")["Location"] == f"{HISTORY}?{query}"
    assert ada.get(f"{HISTORY}?workspace_id__exact=x").status_code == 404
    sent = f"{HISTORY}?since=&until=&action__exact=&kind=changes&within="
    assert ada.get(sent)["Location"] == f"{HISTORY}?kind=changes"
    assert ada.get(f"{HISTORY}?since=&q=")["Location"] == HISTORY


def test_audit_pages_have_each_entry_once_also_where_times_are_equal(sam: Client) -> None:
    made = happened(75, created_at=lambda n: at(f"2026-03-0{3 - n // 30} 12:00:00"))
    first = shown(sam)
    second = shown(sam, f"?after={first.older}")
    third = shown(sam, f"?after={second.older}")
    assert (len(third.result_list), third.older) == (25, None)  # exactly full
    pages = [*first.result_list, *second.result_list, *third.result_list]
    for unknown in ("1.2", "%00", "-1", "9" * 30, "9" * 5000):
        assert shown(sam, f"?after={unknown}").result_list == first.result_list, unknown
    newest_first = sorted(made, key=lambda row: (row.created_at, row.pk), reverse=True)
    assert ids(pages) == ids(newest_first)
    opened = shown(sam, f"?open={newest_first[55].pk}")
    assert ids(opened.result_list) == ids(newest_first[55:])
