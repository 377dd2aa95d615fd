"""Workspaces in the admin: read by their admins and support, managed by operators."""

import re
from functools import partial
from typing import Any
from urllib.parse import quote

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from audit.models import Action
from tests.support import factories, staff
from tests.support.cast import entries, page_of, text_of
from tests.support.database import refused_at_once
from tests.support.factories import Tenant
from tests.support.staff import OLGA, SEARCH, START, WORKSPACES, body, told
from tests.support.usage import used
from workspaces import changes
from workspaces.models import Membership, Workspace

ADD = reverse("admin:workspaces_workspace_add")


# --- Reading


def test_workspace_page_of_its_admin(acme: Tenant, ada: Client) -> None:
    """`test_admin_isolation.py` has what strangers and members must not see or do."""
    staff.member(acme.workspace, "bob@acme.example")
    response = ada.get(WORKSPACES, follow=True)
    assert response.redirect_chain == [(page_of(acme.workspace), 302)]
    html = body(response)
    for text in ("Acme", "Pro", acme.admin.username, "bob@acme.example", str(acme.workspace.pk)):
        assert text in html
    for name in ("suspend", "reinstate", "plan"):
        assert page_of(acme.workspace, name) not in html
        assert ada.post(page_of(acme.workspace, name), {"reason": "x"}).status_code == 403
    assert ada.get(ADD).status_code == 403
    assert told() == []


def test_workspaces_are_listed_for_support_and_for_operators_with_what_they_may_do(
    acme: Tenant, frozen: Tenant, sam: Client, desk: Client
) -> None:
    listed, links = body(sam.get(WORKSPACES)), body(desk.get(WORKSPACES))
    for text in ("Filter by state", ">Suspended</a>", "Acme · 00000001", "Frozen · 00000001"):
        assert text in listed
    for workspace, name in ((acme, "suspend"), (frozen, "reinstate"), (acme, "plan")):
        url = f'href="{page_of(workspace.workspace, name)}"'
        assert url in links
        assert url not in listed
    assert sam.get(ADD).status_code == 403


def test_mailbox_of_a_user_leads_on_to_the_documents_that_it_received(
    acme: Tenant, sam: Client, desk: Client
) -> None:
    login = acme.admin.username
    link = f"{staff.DOCUMENTS}?q={quote(login)}"
    within = f"&amp;workspace_id__exact={acme.workspace.pk}"
    for client, narrowed in ((sam, within), (desk, "")):
        page = client.post(SEARCH, {"q": login})["Location"]
        assert f'href="{link}{narrowed}"' in body(client.get(page))


# --- A new one


def test_workspace_is_created_with_a_name_without_a_key_and_a_plan_on_offer(desk: Client) -> None:
    response = desk.post(ADD, {"name": "  Čapek  & Søn ", "plan": "BUSINESS"}, follow=True)
    workspace = Workspace.objects.get()
    assert (workspace.name, workspace.plan) == ("Čapek & Søn", "BUSINESS")
    assert response.redirect_chain == [(page_of(workspace, "invite"), 302)]
    assert "was created. Invite its first admin now." in body(response)
    assert told() == [(Action.WORKSPACE_CREATED, OLGA, "", "on Business")]
    for changed in ({"name": " "}, {"name": "a\0b"}, {"name": f"dtd_{'a' * 40}"}, {"plan": "GOLD"}):
        response = desk.post(ADD, {"name": "A", "plan": "PRO", **changed})
        assert response.status_code == 200
    assert Workspace.objects.get() == workspace


# --- Suspension and plan


def test_workspace_suspension_asks_for_a_reason(acme: Tenant, desk: Client) -> None:
    url = page_of(acme.workspace, "suspend")
    assert "Its API keys: 1 active; never used." in body(desk.get(url))
    for reason in ("  ", "x" * 501, f"leaked {acme.raw}"):
        desk.post(url, {"reason": reason})
        assert acme.get("/me").status == 200
    for reason in ("Unpaid:\r\ninvoice 7", "once more"):
        desk.post(url, {"reason": reason})
        assert acme.get("/me").status == 403
    assert told() == [(Action.WORKSPACE_SUSPENDED, OLGA, "", "Unpaid: invoice 7")]


def test_workspace_moves_to_another_plan_and_is_renamed_for_the_entries_that_follow(
    acme: Tenant, desk: Client, ada: Client
) -> None:
    desk.post(page_of(acme.workspace, "plan"), {"plan": "FREE", "reason": "They cancelled"})
    assert acme.get("/me").status == 402
    url = page_of(acme.workspace, "rename")
    assert ada.post(url, {"name": "Mine"}).status_code == 403
    for name in ("", f"dtd_{'a' * 40}", "Acme &  Sons", "Acme & Sons"):
        desk.post(url, {"name": name})
    acme.workspace.refresh_from_db()
    assert acme.workspace.name == "Acme & Sons"
    assert told() == [
        (Action.PLAN_CHANGED, OLGA, "", "workspace moved from Pro to Free: They cancelled"),
        (Action.WORKSPACE_RENAMED, OLGA, "", "from Acme to Acme & Sons"),
    ]
    assert {entry.workspace_name for entry in entries()} == {"Acme"}


HELP = "help@service.example"


@pytest.mark.parametrize(
    ("email", "whom", "plan"),
    [
        ("", "the operator of this service", "PRO"),
        (HELP, f'<a href="mailto:{HELP}">{HELP}</a>', "FREE"),
    ],
)
def test_admin_of_a_suspended_workspace_is_told_why_and_whom_to_ask(
    acme: Tenant, ada: Client, settings: Any, email: str, whom: str, plan: str
) -> None:
    settings.SUPPORT_EMAIL = email
    Workspace.objects.update(plan=plan)
    acme.workspace.refresh_from_db()
    by, reason = "root, by command shell", "Invoice 118 is not paid"
    changes.set_suspended(acme.workspace, True, by=by, reason=reason)
    html = body(ada.get(page_of(acme.workspace)))
    [warning] = re.findall('(?s)<p class="health bad">(.+?)</p>', html)
    assert "Acme is suspended" in warning
    assert reason in warning
    assert "Requests with its keys get the status 403." in warning
    assert f"To have it reinstated, write to {whom}." in warning
    text = text_of(body(ada.get(START)))
    assert "Acme is suspended: its keys are refused until it is reinstated." in text
    assert ("Its plan does not include the API either." in text) == (plan == "FREE")


def test_user_without_documents_is_told_whom_to_ask_or_to_set_up_a_second_factor(
    acme: Tenant, umbrella: Tenant
) -> None:
    bob = staff.signed_in(staff.member(acme.workspace, "bob@acme.example"))
    html = text_of(body(bob.get(START)))
    assert "documents, keys and log are for its admins. " in html
    assert f"Ask an admin of your workspace to make you one too. Acme: {acme.admin}" in html
    assert "Looked at" not in html  # of what there is nothing for them
    assert str(umbrella.admin) not in html
    assert "second factor" not in html
    new = factories.user("new@service.example", is_staff=True)
    html = text_of(body(staff.signed_in(new).get(START)))
    assert "set up a second factor" in html
    assert "an admin of your workspace" not in html


def test_workspace_page_has_usage_for_staff_and_the_states_of_keys(
    acme: Tenant, sam: Client, desk: Client, ada: Client
) -> None:
    used(acme.key.pk, acme.workspace.pk, ok=42)
    factories.issue(acme.workspace, "Old", acme.admin)[0].revoke(by=acme.admin)
    pages = [text_of(body(client.get(page_of(acme.workspace)))) for client in (sam, desk, ada)]
    assert [" 42 " in page for page in pages] == [True, True, False]  # ada's start page has it
    states = "1 active, 1 revoked; never used"
    assert all(states in page for page in pages)
    changes.set_suspended(acme.workspace, True, by=OLGA, reason="Invoice 118 is not paid")
    states = "1 active, 1 revoked, refused at present; never used"
    assert states in text_of(body(desk.get(page_of(acme.workspace))))


# --- Members


def act(client: Client, membership: Membership, **form: str) -> Any:
    url = page_of(membership.workspace, "members")
    return client.post(url, {"chosen": str(membership.pk), **form}, follow=True)


def test_workspace_of_what_is_opened_is_looked_at_from_then_on(
    acme: Tenant, umbrella: Tenant, ada: Client
) -> None:
    """What is created then is of it."""
    staff.member(umbrella.workspace, acme.admin.username, "ADMIN")
    for opened, then in (
        (page_of(umbrella.key), umbrella),
        (page_of(acme.workspace), acme),
        (f"{staff.KEYS}?workspace_id__exact={umbrella.workspace.pk}", umbrella),
    ):
        assert ("Back to" in body(ada.get(opened))) == (opened != page_of(umbrella.key))
        assert f"Workspace {then.workspace}" in text_of(body(ada.get(staff.NEW_KEY))), opened
        form = body(ada.get(staff.HISTORY))  # also if another page is opened meanwhile
        assert f'name="workspace_id__exact" value="{then.workspace.pk}"' in form


def test_switch_leads_back_to_the_list_that_the_admin_came_from(
    acme: Tenant, umbrella: Tenant, ada: Client
) -> None:
    staff.member(umbrella.workspace, acme.admin.username, "ADMIN")
    log = f"http://testserver{staff.HISTORY}?within=24h"
    assert f'name="back" value="{log}"' in body(ada.get(WORKSPACES, headers={"referer": log}))
    for back, led_to in ((log, staff.HISTORY), ("http://[", START), ("", START)):
        response = ada.post(page_of(umbrella.workspace, "switch"), {"back": back})
        assert response["Location"] == led_to


def test_members_are_made_admins_and_removed(acme: Tenant, ada: Client) -> None:
    bob = staff.member(acme.workspace, "bob@acme.example").memberships.get()
    assert "Make bob@acme.example an admin of Acme?" in body(act(ada, bob, do="promote"))
    assert not Membership.objects.admins().filter(pk=bob.pk).exists()
    for _ in range(2):
        act(ada, bob, do="promote", confirmed="yes")
        assert Membership.objects.admins().filter(pk=bob.pk).exists()
    assert "Remove bob@acme.example from Acme?" in body(act(ada, bob, do="remove"))
    own = acme.workspace.memberships.get(user=acme.admin)
    assert "Leave Acme?" in body(act(ada, own, do="remove"))
    assert Membership.objects.filter(pk=bob.pk).exists()
    for _ in range(2):
        act(ada, bob, do="remove", confirmed="yes")
        assert not Membership.objects.filter(pk=bob.pk).exists()
    by = acme.admin.username
    assert told() == [
        (Action.MEMBER_ROLE_CHANGED, by, "bob@acme.example", "from member to admin"),
        (Action.MEMBER_REMOVED, by, "bob@acme.example", "was admin"),
    ]


def test_members_of_another_workspace_are_out_of_reach(acme: Tenant, umbrella: Tenant) -> None:
    uma, members = staff.signed_in(umbrella.admin), page_of(umbrella.workspace, "members")
    theirs = staff.member(acme.workspace, "bob@acme.example").memberships.get()
    for chosen in (str(theirs.pk), "", "x", "-1", "9" * 30, "\0"):
        uma.post(members, {"chosen": chosen, "do": "remove", "confirmed": "yes"})
    assert uma.get(members)["Location"] == page_of(umbrella.workspace)
    assert told() == []


def test_last_admin_who_can_sign_in_is_removed_by_nobody(
    acme: Tenant, ada: Client, desk: Client
) -> None:
    staff.member(acme.workspace, "bob@acme.example")
    locked_out = staff.member(acme.workspace, "eve@acme.example", "ADMIN")
    User.objects.filter(pk=locked_out.pk).update(is_active=False)
    last = acme.workspace.memberships.get(user=acme.admin)
    for client in (ada, desk):
        html = body(act(client, last, do="remove"))
        assert "is the only admin of Acme who can sign in" in html
    assert told() == []


def test_two_admins_who_remove_each_other_leave_one(transactional_db: None, acme: Tenant) -> None:
    staff.member(acme.workspace, "bob@acme.example", "ADMIN")
    remove = partial(changes.remove_member, by="x")
    refused = refused_at_once(remove, acme.workspace.memberships.all(), ValidationError)
    assert list(acme.workspace.memberships.all()) == refused
