"""Workspaces in the admin: read by their admins and support, managed by operators."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.urls import reverse

from audit.models import Action
from tests.support import staff
from tests.support.cast import page_of
from tests.support.factories import Tenant
from tests.support.staff import body, told
from workspaces import changes
from workspaces.models import Membership, Workspace

LIST = reverse("admin:workspaces_workspace_changelist")
ADD = reverse("admin:workspaces_workspace_add")
OLGA = "olga@operators.example"


# --- Reading


def test_workspace_page_of_its_admin(acme: Tenant, umbrella: Tenant, ada: Client) -> None:
    staff.member(acme.workspace, "bob@acme.example")
    response = ada.get(LIST, follow=True)
    assert response.redirect_chain == [(page_of(acme.workspace), 302)]
    html = body(response)
    assert "Umbrella" not in html
    for text in ("Acme", "Pro", acme.admin.username, "bob@acme.example", str(acme.workspace.pk)):
        assert text in html
    for name in ("suspend", "reinstate", "plan"):
        assert page_of(acme.workspace, name) not in html
        assert ada.post(page_of(acme.workspace, name), {"reason": "x"}).status_code == 403
    assert ada.get(page_of(umbrella.workspace)).status_code == 404
    assert ada.get(ADD).status_code == 403
    assert told() == []


def test_workspace_page_is_read_only_for_support(acme: Tenant, frozen: Tenant, sam: Client) -> None:
    listed = body(sam.get(LIST))
    assert "Acme · 00000001" in listed
    assert "Frozen · 00000001" in listed
    html = body(sam.get(page_of(frozen.workspace)))
    for text in ("Suspended", "Pro", frozen.admin.username, "is suspended: its keys are refused"):
        assert text in html
    webhooks_of = reverse("admin:webhooks_endpoint_changelist")
    assert f"{webhooks_of}?workspace={frozen.workspace.pk}" in html
    assert "<select" not in html
    assert "Invite" not in html
    for name in ("suspend", "reinstate", "plan", "invite", "members", "revoke_invitation"):
        assert sam.post(page_of(frozen.workspace, name), {"reason": "x"}).status_code == 403
    assert sam.get(ADD).status_code == 403
    assert told() == []


def test_workspace_list_finds_parts_of_names_and_ids(acme: Tenant, desk: Client) -> None:
    other = Workspace.objects.create(name="Initech")
    for text in ("TECH", str(other.pk)[:8], str(other.pk).upper(), f" {other.pk.hex[:13]} "):
        html = body(desk.get(LIST, {"q": text}))
        assert page_of(other) in html
        assert page_of(acme.workspace) not in html
    for text in ("1234567", "zzzzzzzz", "0" * 33):
        assert page_of(other) not in body(desk.get(LIST, {"q": text}))


# --- Names


# --- A new one


def test_workspace_is_created_by_an_operator_and_recorded(desk: Client) -> None:
    response = desk.post(ADD, {"name": "  Čapek  & Søn ", "plan": "BUSINESS"}, follow=True)
    workspace = Workspace.objects.get()
    assert (workspace.name, workspace.plan) == ("Čapek & Søn", "BUSINESS")
    assert response.redirect_chain == [(page_of(workspace, "invite"), 302)]
    assert "was created. Invite its first admin now." in body(response)
    assert told() == [(Action.WORKSPACE_CREATED, OLGA, "", "BUSINESS")]


def test_workspace_with_a_name_that_exists_is_asked_about(acme: Tenant, desk: Client) -> None:
    html = body(desk.post(ADD, {"name": "acme", "plan": "PRO"}))
    assert "Create another “acme”?" in html
    assert "<p>Acme · 00000001</p>" in html
    assert Workspace.objects.count() == 1
    response = desk.post(ADD, {"name": "acme", "plan": "PRO", "confirmed": "yes"})
    assert response.status_code == 302
    assert Workspace.objects.count() == 2


def test_workspace_form_names_its_errors(desk: Client) -> None:
    for changed, text in (
        ({"name": " "}, "This field is required."),
        ({"name": "a\0b"}, "Null characters are not allowed."),
        ({"name": "a\x07b"}, "must not contain control characters"),
        ({"name": "dtd_" + "a" * 40}, "must not contain an API key"),
        ({"plan": "GOLD"}, "GOLD is not one of the available choices."),
    ):
        response = desk.post(ADD, {"name": "A", "plan": "PRO", **changed})
        assert response.status_code == 200
        assert text in body(response)
    assert not Workspace.objects.exists()


# --- Suspension and plan


def test_workspace_suspension_asks_for_a_reason(acme: Tenant, desk: Client) -> None:
    url = page_of(acme.workspace, "suspend")
    html = body(desk.get(url))
    assert "Suspend Acme · 00000001?" in html
    assert "Any keys that it has stop with the next request." in html
    for reason, text in (
        ("  ", "Say why"),
        ("x" * 501, "at most 500 characters"),
        (f"leaked {acme.raw}", "must not contain an API key"),
    ):
        assert text in body(desk.post(url, {"reason": reason}))
        assert acme.get("/me").status == 200
    html = body(desk.post(url, {"reason": "Unpaid:\r\ninvoice 7"}, follow=True))
    assert "Acme · 00000001 is suspended." in html
    assert acme.get("/me").status == 403
    assert "is suspended already" in body(desk.post(url, {"reason": "x"}, follow=True))
    assert told() == [(Action.WORKSPACE_SUSPENDED, OLGA, "", "Unpaid: invoice 7")]


def test_workspace_page_says_why_since_when_and_by_whom(
    acme: Tenant, desk: Client, ada: Client, sam: Client
) -> None:
    desk.post(page_of(acme.workspace, "suspend"), {"reason": "Unpaid invoice 7"})
    desk.post(page_of(acme.workspace, "plan"), {"plan": "BUSINESS", "reason": "They asked for it"})
    for client in (desk, sam, ada):
        html = body(client.get(page_of(acme.workspace)))
        assert f"by {OLGA}: Unpaid invoice 7" in html
        assert f"by {OLGA}: PRO → BUSINESS: They asked for it" in html
    desk.post(page_of(acme.workspace, "reinstate"), {"reason": "Paid"})
    html = body(desk.get(page_of(acme.workspace)))
    assert "Unpaid invoice 7" not in html
    assert f"by {OLGA}: Paid" in html


def test_workspace_moves_to_another_plan_whose_effects_are_shown(
    acme: Tenant, desk: Client
) -> None:
    url = page_of(acme.workspace, "plan")
    html = body(desk.get(url))
    assert "It is on Pro now." in html
    assert 'value="PRO"' not in html
    assert "Any keys that it has stop with the next request." in html
    assert "Any keys that it has keep working." in html
    response = desk.post(url, {"plan": "FREE", "reason": "They cancelled"}, follow=True)
    assert "Acme · 00000001 is on Free now." in body(response)
    assert acme.get("/me").status == 402
    assert "Any keys that it has work again" in body(desk.get(url))
    assert told() == [(Action.PLAN_CHANGED, OLGA, "", "PRO → FREE: They cancelled")]


def test_workspace_plan_of_the_past_can_only_be_left(acme: Tenant, desk: Client) -> None:
    Workspace.objects.filter(pk=acme.workspace.pk).update(plan="LEGACY")
    assert "LEGACY (no longer offered)" in body(desk.get(page_of(acme.workspace)))
    for plan in ("LEGACY", "NONE", ""):
        form = {"plan": plan, "reason": "x"}
        assert desk.post(page_of(acme.workspace, "plan"), form).status_code == 200
    assert desk.post(page_of(acme.workspace, "plan"), form | {"plan": "PRO"}).status_code == 302
    assert [entry[3] for entry in told()] == ["LEGACY → PRO: x"]


# --- Members


def act(client: Client, membership: Membership, **form: str) -> Any:
    """Sends a form of the members' table."""
    url = page_of(membership.workspace, "members")
    return client.post(url, {"chosen": str(membership.pk), **form}, follow=True)


@pytest.mark.parametrize("who", ["operator", "admin"])
def test_members_are_made_admins_and_removed(acme: Tenant, who: str) -> None:
    actor = staff.operator() if who == "operator" else acme.admin
    client = staff.signed_in(actor)
    bob = staff.member(acme.workspace, "bob@acme.example").memberships.get()
    assert body(client.get(page_of(acme.workspace))).count("Make an admin</button>") == 1
    assert "is an admin of Acme now." in body(act(client, bob, do="promote"))
    assert Membership.objects.admins().filter(pk=bob.pk).exists()
    assert "Make an admin</button>" not in body(client.get(page_of(acme.workspace)))
    act(client, bob, do="promote")  # which it is
    act(client, bob, do="demote", role="MEMBER")  # which is not on offer
    question = body(act(client, bob, do="remove"))
    assert "Remove bob@acme.example from Acme" in question
    assert "keep working" in question
    assert Membership.objects.filter(pk=bob.pk).exists()
    act(client, bob, do="remove", confirmed="yes")
    assert not Membership.objects.filter(pk=bob.pk).exists()
    assert "is not a member any more" in body(act(client, bob, do="remove", confirmed="yes"))
    assert told() == [
        (Action.MEMBER_ROLE_CHANGED, actor.username, "bob@acme.example", "MEMBER → ADMIN"),
        (Action.MEMBER_REMOVED, actor.username, "bob@acme.example", "ADMIN"),
    ]


def test_members_of_another_workspace_are_out_of_reach(acme: Tenant, umbrella: Tenant) -> None:
    uma = staff.signed_in(umbrella.admin)
    theirs = acme.workspace.memberships.get()
    assert act(uma, theirs, do="remove", confirmed="yes").status_code == 404
    form = {"chosen": str(theirs.pk), "do": "remove", "confirmed": "yes"}
    uma.post(page_of(umbrella.workspace, "members"), form)
    for malformed in ("", "x", "-1", "9" * 30, "\0"):
        uma.post(page_of(umbrella.workspace, "members"), {**form, "chosen": malformed})
    assert uma.get(page_of(umbrella.workspace, "members"))["Location"] == page_of(
        umbrella.workspace
    )
    assert told() == []


def test_last_admin_cannot_leave_and_is_removed_by_an_operator_after_a_question(
    acme: Tenant, ada: Client, desk: Client
) -> None:
    staff.member(acme.workspace, "bob@acme.example")
    locked_out = staff.member(acme.workspace, "eve@acme.example", "ADMIN")
    User.objects.filter(pk=locked_out.pk).update(is_active=False)
    last = acme.workspace.memberships.get(user=acme.admin)
    html = body(act(ada, last, do="remove", confirmed="yes", last_admin="yes"))
    assert "is the only admin of Acme who can sign in" in html
    html = body(act(desk, last, do="remove", confirmed="yes"))
    assert "Leave Acme · 00000001 without an admin?" in html
    assert told() == []
    act(desk, last, do="remove", confirmed="yes", last_admin="yes")
    assert [action for action, *_ in told()] == [Action.MEMBER_REMOVED]
    assert not Membership.objects.admins().filter(workspace=acme.workspace).exists()


def test_two_admins_who_remove_each_other_leave_one(transactional_db: None, acme: Tenant) -> None:
    staff.member(acme.workspace, "bob@acme.example", "ADMIN")
    both = list(acme.workspace.memberships.all())
    ready, refused = threading.Barrier(2), []

    def remove(membership: Membership) -> None:
        ready.wait()
        try:
            changes.remove_member(membership, by="x")
        except changes.LastAdmin:
            refused.append(membership)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(remove, both))
    assert list(acme.workspace.memberships.all()) == refused
