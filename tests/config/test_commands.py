"""create_workspace and issue_key: what scripts call."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from config.request.context import actor
from tests.support import factories
from tests.support.factories import Tenant
from workspaces.accounts.recording import NOT_CONFIRMED
from workspaces.models import Membership, Workspace


def command(name: str, *words: str) -> str:
    """What a command prints on stdout, less the line's end."""
    out = StringIO()
    call_command(name, *words, stdout=out)
    return out.getvalue().removesuffix("\n")


def create_workspace(name: str, plan: str = "PRO", admin: str = "eva@example.com") -> str:
    return command("create_workspace", name, "--plan", plan, "--admin", admin)


def test_create_workspace_prints_the_workspace_and_a_one_time_password(db: None) -> None:
    printed = json.loads(create_workspace("Čapek & Søn", "pro", "Eva@Example.com"))
    workspace = Workspace.objects.get()
    user = User.objects.get()
    assert printed == {
        "id": str(workspace.id),
        "name": "Čapek & Søn",
        "plan": "PRO",
        "admin": "eva@example.com",
        "password": printed["password"],
    }
    assert user.check_password(printed["password"])
    assert user.is_staff
    assert not user.is_superuser
    assert Membership.objects.admins().get().workspace == workspace


def test_commands_find_a_login_in_any_case(db: None) -> None:
    eva = factories.user("Eva@Example.com")
    workspace = Workspace.objects.get(pk=json.loads(create_workspace("One"))["id"])
    assert list(workspace.memberships.values_list("user", flat=True)) == [eva.pk]
    command("issue_key", str(workspace.pk), "Payroll", "--by", "EVA@example.com")
    assert AuditEntry.objects.get(key_name="Payroll").detail == "on behalf of Eva@Example.com"
    with pytest.raises(CommandError, match="has no second factor"):
        command("remove_second_factor", "eva@EXAMPLE.com")


def recorded() -> list[tuple[str, str, str]]:
    """The entries so far, in order."""
    entries = AuditEntry.objects.order_by("id")
    assert {entry.person for entry in entries} == {actor()}
    return [(entry.action, entry.member, entry.detail) for entry in entries]


def test_create_workspace_is_recorded_with_its_admin_s_account(db: None) -> None:
    create_workspace("One")
    assert recorded() == [
        (Action.WORKSPACE_CREATED, "", "on Pro"),
        (Action.ACCOUNT_CREATED, "eva@example.com", f"may sign in here; {NOT_CONFIRMED}"),
        (Action.MEMBER_ADDED, "eva@example.com", "as admin"),
    ]
    one = Workspace.objects.get()
    named = AuditEntry.objects.exclude(action=Action.ACCOUNT_CREATED)
    assert set(named.values_list("workspace_id", "workspace_name")) == {(one.id, "One")}


def test_create_workspace_makes_a_known_user_staff_and_leaves_the_password_alone(db: None) -> None:
    eva = factories.user("eva@example.com")
    assert "password" not in json.loads(create_workspace("One", "FREE", "EVA@example.com"))
    assert User.objects.get().password == eva.password
    assert recorded() == [
        (Action.WORKSPACE_CREATED, "", "on Free"),
        (Action.ACCOUNT_CHANGED, "eva@example.com", "may sign in here"),
        (Action.MEMBER_ADDED, "eva@example.com", "as admin"),
    ]


def test_create_workspace_names_what_it_cannot_use(db: None) -> None:
    """The forms of the console, which it uses, have tests of more texts."""
    for changed, text in (({"plan": "GOLD"}, "invalid choice: 'GOLD'"), ({"name": ""}, "NAME: ")):
        with pytest.raises(CommandError, match=text):
            create_workspace(**{"name": "A"} | changed)
    assert not Workspace.objects.exists()
    assert not User.objects.exists()


def test_issue_key_prints_the_raw_key_once_and_records_who_ran_it(acme: Tenant) -> None:
    raw = command("issue_key", str(acme.workspace.id), "Backup", "--by", acme.admin.username)
    key = ApiKey.objects.get(name="Backup")
    assert raw.startswith("dtd_")
    assert (key.prefix, key.workspace, key.created_by) == (raw[:12], acme.workspace, None)
    entry = AuditEntry.objects.get(key_id=key.id)
    assert (entry.action, entry.key_name) == (Action.KEY_CREATED, "Backup")
    assert (entry.person, entry.detail) == (actor(), f"on behalf of {acme.admin.username}")
    assert actor() != acme.admin.username


def test_issue_key_is_for_admins_of_that_workspace_only(acme: Tenant, umbrella: Tenant) -> None:
    member = User.objects.create_user("member@acme.example", is_staff=True)
    Membership.objects.create(workspace=acme.workspace, user=member, role=Membership.Role.MEMBER)
    root = User.objects.create_superuser("root@example.com")
    before = ApiKey.objects.count()
    own = str(acme.workspace.id)
    for workspace, person in (
        *((own, outsider) for outsider in (member, root, umbrella.admin)),
        ("00000000-0000-4000-8000-000000000000", acme.admin),
    ):
        with pytest.raises(CommandError, match="is not an admin of a workspace with that id"):
            command("issue_key", workspace, "Mine", "--by", person.username)
    with pytest.raises(CommandError, match="invalid UUID value: 'no-uuid'"):
        command("issue_key", "no-uuid", "Mine", "--by", acme.admin.username)
    assert ApiKey.objects.count() == before


def test_issue_key_refuses_a_key_as_a_name_and_prints_no_part_of_it(acme: Tenant) -> None:
    for name in (acme.raw, f"the one {acme.raw[:13]}…"):
        with pytest.raises(CommandError, match="^A name must not contain an API key") as raised:
            command("issue_key", str(acme.workspace.id), name, "--by", acme.admin.username)
        assert acme.key.prefix not in str(raised.value)
    assert ApiKey.objects.count() == 1
