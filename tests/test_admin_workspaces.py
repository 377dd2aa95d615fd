"""Workspaces in the admin: read by their admins, managed by operators with an audit entry each."""

from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from audit.models import Action, AuditEntry
from tests import factories
from tests.factories import Tenant
from workspaces import changes, directory, effects
from workspaces.models import Membership, Workspace

LIST = reverse("admin:workspaces_workspace_changelist")


def page(workspace: Workspace) -> str:
    return reverse("admin:workspaces_workspace_change", args=[workspace.pk])


def body(response: Any) -> str:
    text: str = response.content.decode()
    return text


@pytest.fixture
def operator(db: None) -> User:
    return factories.user("root@ops.example", is_staff=True, is_superuser=True)


@pytest.fixture
def desk(operator: User, client: Client) -> Client:
    """The operator, signed in."""
    client.force_login(operator)
    return client


def fields(workspace: Workspace, **changed: str) -> dict[str, str]:
    """The form of a workspace's page as it stands, with some fields changed."""
    members = list(workspace.memberships.order_by("user__username"))
    form = {
        "plan": workspace.plan,
        **({"suspended": "on"} if workspace.suspended else {}),
        "memberships-TOTAL_FORMS": str(len(members)),
        "memberships-INITIAL_FORMS": str(len(members)),
    }
    for number, each in enumerate(members):
        form[f"memberships-{number}-id"] = str(each.pk)
        form[f"memberships-{number}-workspace"] = str(workspace.pk)
        form[f"memberships-{number}-role"] = each.role
    return {name: value for name, value in {**form, **changed}.items() if value != "off"}


def told() -> list[tuple[str, str, str, str]]:
    """The entries so far, in order, but for the keys'."""
    entries = AuditEntry.objects.exclude(action__startswith="key.").order_by("id")
    return list(entries.values_list("action", "person", "member", "detail"))


def test_workspace_page_is_readable_for_its_admin(
    acme: Tenant, umbrella: Tenant, client: Client
) -> None:
    factories.user("bob@acme.example").memberships.create(workspace=acme.workspace)
    client.force_login(acme.admin)
    assert "Umbrella" not in body(client.get(LIST))
    html = body(client.get(page(acme.workspace)))
    for text in ("Acme", "Pro", acme.admin.username, "bob@acme.example"):
        assert text in html
    assert "<select" not in html.replace('<select name="action"', "")
    assert client.get(page(umbrella.workspace)).status_code == 404


def test_workspace_page_lets_an_admin_change_nothing(acme: Tenant, client: Client) -> None:
    client.force_login(acme.admin)
    response = client.post(page(acme.workspace), fields(acme.workspace, plan="BUSINESS"))
    assert response.status_code == 403
    assert told() == []
    acme.workspace.refresh_from_db()
    assert acme.workspace.plan == "PRO"


def test_workspace_list_shows_an_operator_all_and_finds_by_name(
    acme: Tenant, umbrella: Tenant, desk: Client
) -> None:
    assert "Acme" in body(desk.get(LIST))
    assert "Acme" not in body(desk.get(LIST, {"q": "umb"}))


def test_workspace_plan_and_suspension_are_recorded_once_each(
    acme: Tenant, operator: User, desk: Client
) -> None:
    who = operator.username
    for changed in ({"plan": "BUSINESS", "suspended": "on"}, {}, {"suspended": "off"}):
        acme.workspace.refresh_from_db()
        response = desk.post(page(acme.workspace), fields(acme.workspace, **changed))
        assert response.status_code == 302, body(response)
    assert told() == [
        (Action.PLAN_CHANGED, who, "", "PRO → BUSINESS"),
        (Action.WORKSPACE_SUSPENDED, who, "", ""),
        (Action.WORKSPACE_REINSTATED, who, "", ""),
    ]


def test_workspace_suspension_reaches_the_next_request(acme: Tenant, desk: Client) -> None:
    desk.post(page(acme.workspace), fields(acme.workspace, suspended="on"))
    assert acme.get("/me").status == 403


def test_workspace_plan_that_is_no_longer_offered_can_stay(acme: Tenant, desk: Client) -> None:
    Workspace.objects.filter(pk=acme.workspace.pk).update(plan="LEGACY")
    acme.workspace.refresh_from_db()
    assert "LEGACY (no longer offered)" in body(desk.get(page(acme.workspace)))
    desk.post(page(acme.workspace), fields(acme.workspace, suspended="on"))
    assert [entry[0] for entry in told()] == [Action.WORKSPACE_SUSPENDED]
    response = desk.post(page(acme.workspace), fields(acme.workspace, plan="NONE"))
    assert response.status_code == 200


def test_memberships_come_change_and_go(acme: Tenant, operator: User, desk: Client) -> None:
    bob, who = factories.user("bob@acme.example", is_staff=True), operator.username
    new = {
        "memberships-TOTAL_FORMS": "2",
        "memberships-1-workspace": str(acme.workspace.pk),
        "memberships-1-user": str(bob.pk),
        "memberships-1-role": "MEMBER",
    }
    desk.post(page(acme.workspace), fields(acme.workspace, **new))
    desk.post(page(acme.workspace), fields(acme.workspace, **{"memberships-1-role": "ADMIN"}))
    assert Membership.objects.admins().filter(user=bob).exists()
    desk.post(page(acme.workspace), fields(acme.workspace))
    desk.post(page(acme.workspace), fields(acme.workspace, **{"memberships-1-DELETE": "on"}))
    assert not Membership.objects.filter(user=bob).exists()
    assert told() == [
        (Action.MEMBER_ADDED, who, bob.username, "MEMBER"),
        (Action.MEMBER_ROLE_CHANGED, who, bob.username, "MEMBER → ADMIN"),
        (Action.MEMBER_REMOVED, who, bob.username, "ADMIN"),
    ]


def test_membership_never_changes_its_user(acme: Tenant, desk: Client) -> None:
    bob = factories.user("bob@acme.example")
    desk.post(page(acme.workspace), fields(acme.workspace, **{"memberships-0-user": str(bob.pk)}))
    assert acme.workspace.memberships.get().user == acme.admin
    assert told() == []


def test_membership_of_an_admin_who_cannot_sign_in_is_reported(acme: Tenant, desk: Client) -> None:
    User.objects.filter(pk=acme.admin.pk).update(is_staff=False)
    response = desk.post(page(acme.workspace), fields(acme.workspace), follow=True)
    assert "cannot sign in" in body(response)


def test_workspace_change_that_was_made_meanwhile_is_not_recorded_again(acme: Tenant) -> None:
    membership = acme.workspace.memberships.get()
    for _ in range(2):
        changes.change_role(membership, "MEMBER", by="olga@operators.example")
        changes.remove_member(membership, by="olga@operators.example")
        changes.change_role(membership, "ADMIN", by="olga@operators.example")
    assert len(told()) == 2


def test_workspace_admin_adds_and_deletes_nothing(acme: Tenant, desk: Client) -> None:
    assert desk.get(reverse("admin:workspaces_workspace_add")).status_code == 403
    delete = reverse("admin:workspaces_workspace_delete", args=[acme.workspace.pk])
    assert desk.post(delete, {"post": "yes"}).status_code == 403
    delete = reverse("admin:auth_user_delete", args=[acme.admin.pk])
    assert desk.post(delete, {"post": "yes"}).status_code == 403
    for name in ("workspaces_workspace", "auth_user"):
        chosen = {"action": "delete_selected", "_selected_action": [str(acme.admin.pk)]}
        desk.post(reverse(f"admin:{name}_changelist"), {**chosen, "post": "yes"})
    assert Workspace.objects.filter(pk=acme.workspace.pk).exists()
    assert User.objects.filter(pk=acme.admin.pk).exists()


def test_users_admin_is_for_operators_alone(acme: Tenant, client: Client) -> None:
    client.force_login(acme.admin)
    assert client.get(reverse("admin:auth_user_changelist")).status_code == 403
    assert "Users" not in body(client.get(reverse("admin:index")))


def test_users_admin_adds_a_user(desk: Client) -> None:
    secret = "a long enough passphrase"
    new = {"username": "eve@acme.example", "password1": secret, "password2": secret}
    desk.post(reverse("admin:auth_user_add"), {**new, "usable_password": "true"})
    eve = User.objects.get(username="eve@acme.example")
    html = body(desk.get(reverse("admin:auth_user_change", args=[eve.pk])))
    assert "user_permissions" not in html
    assert "Support" in html


def test_workspaces_with_the_same_name_have_different_labels(acme: Tenant) -> None:
    twin = Workspace.objects.create(name="Acme")
    names = {each.id: each.name for each in (acme.workspace, twin)}
    assert directory.labels(names) == {
        acme.workspace.id: "Acme · 00000001",
        twin.id: f"Acme · {str(twin.id)[:8]}",
    }
    assert directory.labels({twin.id: "Acme"}) == {twin.id: "Acme"}


def test_suspension_says_how_many_keys_stop(acme: Tenant, umbrella: Tenant) -> None:
    assert effects.sentences(acme.workspace, works=False) == ["1 active key stops now."]
    factories.issue(acme.workspace, "Second", acme.admin)
    assert effects.sentences(acme.workspace, works=True) == [
        "2 active keys work again from the next request on."
    ]
    umbrella.key.revoke(by=umbrella.admin)
    assert effects.sentences(umbrella.workspace, works=False) == ["No active keys stop now."]
