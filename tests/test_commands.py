"""create_workspace and issue_key: what scripts call."""

import json
from io import StringIO

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from tests.factories import Tenant
from workspaces.models import Membership, Workspace


def command(name: str, *words: str) -> str:
    """What a command prints on stdout, less the line's end."""
    out = StringIO()
    call_command(name, *words, stdout=out)
    return out.getvalue().removesuffix("\n")


def test_create_workspace_prints_the_workspace_and_a_one_time_password(db: None) -> None:
    printed = json.loads(
        command("create_workspace", "Čapek & Søn", "--plan", "pro", "--admin", "Eva@Example.com")
    )

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


def test_create_workspace_leaves_the_password_of_a_known_user_alone(db: None) -> None:
    first = json.loads(
        command("create_workspace", "One", "--plan", "PRO", "--admin", "eva@example.com")
    )
    second = json.loads(
        command("create_workspace", "Two", "--plan", "FREE", "--admin", "EVA@example.com")
    )

    assert "password" not in second
    assert User.objects.get().check_password(first["password"])
    assert Membership.objects.admins().count() == 2


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("", "--plan", "PRO", "--admin", "a@b.example"), "NAME must have 1 to 200 characters."),
        (
            ("n" * 201, "--plan", "PRO", "--admin", "a@b.example"),
            "NAME must have 1 to 200 characters.",
        ),
        (
            ("a\0b", "--plan", "PRO", "--admin", "a@b.example"),
            "NAME must have 1 to 200 characters.",
        ),
        (
            ("A", "--plan", "GOLD", "--admin", "a@b.example"),
            "--plan must be one of FREE, PERSONAL, PRO, BUSINESS.",
        ),
        (("A", "--plan", "PRO", "--admin", "nobody"), "--admin must be an e-mail address."),
        (
            ("A", "--plan", "PRO", "--admin", "a@" + ("b" * 60 + ".") * 3 + "example"),
            "--admin must be an e-mail address of at most 150 characters.",
        ),
    ],
)
def test_create_workspace_names_what_it_cannot_use(
    db: None, words: tuple[str, ...], text: str
) -> None:
    with pytest.raises(CommandError, match="^" + text.replace(".", r"\.") + "$"):
        command("create_workspace", *words)
    assert not Workspace.objects.exists()
    assert not User.objects.exists()


def test_create_workspace_refuses_a_user_whose_account_is_closed(db: None) -> None:
    User.objects.create_user("eva@example.com", is_active=False)
    with pytest.raises(CommandError, match="eva@example.com's account is deactivated"):
        command("create_workspace", "A", "--plan", "PRO", "--admin", "eva@example.com")
    assert not Workspace.objects.exists()


def test_issue_key_prints_the_raw_key_once_and_keeps_only_its_hash(acme: Tenant) -> None:
    raw = command("issue_key", str(acme.workspace.id), "Backup", "--by", acme.admin.username)

    key = ApiKey.objects.get(name="Backup")
    assert raw.startswith("dtd_")
    assert (key.prefix, key.workspace, key.created_by) == (raw[:12], acme.workspace, acme.admin)
    entry = AuditEntry.objects.get(key_id=key.id)
    assert (entry.action, entry.key_name, entry.person) == (
        Action.KEY_CREATED,
        "Backup",
        acme.admin.username,
    )


def test_issue_key_is_for_admins_of_that_workspace_only(acme: Tenant, umbrella: Tenant) -> None:
    member = User.objects.create_user("member@acme.example", is_staff=True)
    Membership.objects.create(workspace=acme.workspace, user=member, role=Membership.Role.MEMBER)
    root = User.objects.create_superuser("root@example.com")
    outsiders = [member, root, umbrella.admin]
    before = ApiKey.objects.count()

    for person in outsiders:
        with pytest.raises(CommandError, match="is not an admin of a workspace with that id"):
            command("issue_key", str(acme.workspace.id), "Mine", "--by", person.username)
    for unknown in ("no-uuid", "00000000-0000-4000-8000-000000000000"):
        with pytest.raises(CommandError, match="is not an admin of a workspace with that id"):
            command("issue_key", unknown, "Mine", "--by", acme.admin.username)
    assert ApiKey.objects.count() == before


@pytest.mark.parametrize("name", ["", "   ", "n" * 101, "a\0b"])
def test_issue_key_needs_a_name_of_at_most_100_characters(acme: Tenant, name: str) -> None:
    with pytest.raises(CommandError, match="NAME: A name must"):
        command("issue_key", str(acme.workspace.id), name, "--by", acme.admin.username)
