"""The keys in the admin: listed, created once, revoked, deleted, by admins of their workspace."""

import logging
import re
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from django.utils.html import strip_tags

from apikeys import keys
from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from config.console.formatting import time_tag
from tests.support import factories
from tests.support.cast import create_key, form_of, page_of, raw_of, text_of
from tests.support.client import get
from tests.support.database import refused_at_once, whole_database
from tests.support.factories import Tenant, at
from tests.support.staff import body
from workspaces.models import Membership, Session

LIST = reverse("admin:apikeys_apikey_changelist")
NEW = reverse("admin:apikeys_apikey_add")


# --- The list


def test_key_list_says_all_of_a_key_that_may_be_seen_and_its_end_in_few_words(
    acme: Tenant, ada: Client
) -> None:
    """So that one key that has ended does not make all other columns narrow."""
    key = acme.key
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=at("2026-01-05 10:00:00"))
    html = body(ada.get(LIST))
    for text in (key.name, f"{key.prefix}…", key.created_at.isoformat(), "Active"):
        assert text in html
    assert 'datetime="2026-01-05T10:00:00+00:00"' in html
    assert acme.raw not in html
    assert key.digest not in html
    found = ada.get(LIST, {"q": f" {acme.raw}", "p": "1"})
    assert found["Location"] == f"{LIST}?q={key.prefix}&p=1"
    assert key.name in body(ada.get(found["Location"]))
    ApiKey.objects.update(last_used_at=None)
    new, _ = acme.key.roll(by=acme.admin, ends_in=timedelta(days=7))
    text = text_of(body(ada.get(LIST)))
    end = f"{timezone.now() + timedelta(days=7):%-d %b %Y}"
    assert f"{acme.key} Expires soon until {end} replaced by {new.prefix}… 0 requests" in text
    text = text_of(body(ada.post(page_of(acme.key, "revoke"), follow=True)))
    assert f"Programs that still need access have {new}" in text
    assert f"{acme.key} Revoked just now replaced by {new.prefix}… 0 requests" in text


def test_ended_key_names_its_successor_only_while_that_one_works(acme: Tenant, ada: Client) -> None:
    new, _ = acme.key.roll(by=acme.admin, ends_in=timedelta(days=7))
    new.revoke(by=acme.admin)
    assert "Use that one if you have it" not in body(ada.get(page_of(acme.key, "roll")))
    text = text_of(body(ada.post(page_of(acme.key, "delete"), follow=True)))
    assert "If a program still needs access, create another key ." in text


@pytest.mark.parametrize("how", ["revoke", "delete"])
def test_rolled_key_whose_successor_has_ended_expires_soon(
    acme: Tenant, ada: Client, how: str
) -> None:
    new, _ = acme.key.roll(by=acme.admin, ends_in=timedelta(days=7))
    expires = f"{acme.key} expires soon"
    assert expires not in text_of(body(ada.get(LIST)))
    without = f"Without this key, {acme.key} has no successor. It ends on"
    assert without in text_of(body(ada.get(page_of(new, how))))
    text = text_of(body(ada.post(page_of(new, how), follow=True)))
    assert expires in text
    assert (f"replaced by {new.prefix}… which has ended" in text) is (how == "revoke")
    assert "Without this key" not in text_of(body(ada.get(page_of(acme.key, how))))


# --- Creating


def test_key_creation_needs_a_name_and_may_have_an_expiry(ada: Client) -> None:
    html = body(ada.get(NEW)).split("<main")[1]
    assert re.findall(r'<(?:input|select) [^>]*name="(\w+)"[^>]* required', html) == ["name"]
    assert '<option value="90" selected>' in html
    raw_of(create_key(ada))
    assert ApiKey.objects.get(name="CRM sync").expires_at is None
    response = create_key(ada, "  Ünï <b>& co</b> 👩‍💻  ", expires="90")
    key = ApiKey.objects.get(name="Ünï <b>& co</b> 👩‍💻")
    assert "<b>& co" not in body(ada.get(LIST))
    assert key.expires_at is not None
    assert timedelta(days=89) < key.expires_at - timezone.now() <= timedelta(days=90)
    assert f"It expires on {strip_tags(time_tag(key.expires_at))}." in strip_tags(body(response))
    entry = AuditEntry.objects.get(action=Action.KEY_CREATED, key_id=key.pk)
    assert entry.detail == f"expires {key.expires_at:%Y-%m-%d %H:%M} UTC"


def test_key_is_shown_once_in_one_response_and_works(
    acme: Tenant, ada: Client, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        response = create_key(ada)
    raw = raw_of(response)
    assert "no-store" in response["Cache-Control"]
    assert "cannot be shown again" in body(response)
    assert body(response).count(raw) == 1
    assert get("/api/v1/me", f"Bearer {raw}").json()["data"]["key"]["name"] == "CRM sync"
    sessions = [session.get_decoded() for session in Session.objects.all()]
    pages = [body(ada.get(url)) for url in (LIST, page_of(ApiKey.objects.get(name="CRM sync")))]
    for place in (caplog.text, response.headers, response.cookies, sessions, pages):
        assert raw not in str(place)
    assert not LogEntry.objects.exists()
    assert raw not in str(whole_database())


@pytest.mark.parametrize("rolled", [False, True])
def test_key_form_that_is_sent_again_creates_nothing_and_says_so(
    acme: Tenant, ada: Client, rolled: bool
) -> None:
    url = page_of(acme.key, "roll") if rolled else NEW
    chosen = {"name": "CRM sync", "expires": "never", "old_key_ends": "168"}
    form = form_of(body(ada.get(url))) | chosen
    raw = raw_of(ada.post(url, form))
    again = body(ada.post(url, {**form, "old_key_ends": "0"}, follow=True))
    assert "Nothing was created" in again
    assert raw not in again
    ApiKey.objects.exclude(pk=acme.key.pk).get().delete_by(by=acme.admin)
    assert "Nothing was created" in body(ada.post(url, form, follow=True))
    assert ApiKey.objects.get() == acme.key
    assert acme.get("/me").status == 200  # the second form did not end it at once
    assert AuditEntry.objects.filter(action=Action.KEY_ROLLED).count() == rolled


@pytest.fixture
def room_for_one(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    assert keys.MOST_ACTIVE == 100
    monkeypatch.setattr(keys, "MOST_ACTIVE", 2)


@pytest.mark.usefixtures("room_for_one")
def test_key_creation_and_rolling_are_refused_if_there_are_too_many(
    acme: Tenant, ada: Client
) -> None:
    raw_of(create_key(ada))
    text = "a workspace may have 2 active keys. Revoke or delete one that is not needed."
    data = {
        **form_of(body(ada.get(page_of(acme.key, "roll")))),
        "old_key_ends": "24",
        "expires": "never",
    }
    for url, fields in ((NEW, {"name": "Third"}), (page_of(acme.key, "roll"), {})):
        response = ada.post(url, {**data, **form_of(body(ada.get(url))), **fields}, follow=True)
        assert text in body(response)
    with pytest.raises(CommandError, match="may have 2 active keys"):
        call_command("issue_key", str(acme.workspace.pk), "Third", "--by", acme.admin.username)
    assert ApiKey.objects.count() == 2
    assert not AuditEntry.objects.filter(action=Action.KEY_ROLLED).exists()
    assert acme.get("/me").status == 200
    raw_of(ada.post(page_of(acme.key, "roll"), {**data, "old_key_ends": "0"}))  # ends at once
    for act in ("revoke", "delete"):
        ada.post(page_of(ApiKey.objects.active().latest("created_at"), act))
        raw_of(create_key(ada))
    assert ApiKey.objects.active().count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("room_for_one")
def test_two_key_creations_at_once_do_not_pass_the_limit(acme: Tenant) -> None:
    issue = partial(factories.issue, acme.workspace, by=acme.admin)
    assert len(refused_at_once(issue, ["One more", "Another"])) == 1
    assert ApiKey.objects.count() == 2


WRONG: list[tuple[dict[str, str], str]] = [
    ({"name": "   "}, "This field is required."),
    ({"name": "x" * 101}, "at most 100 characters"),
    ({"name": "two\nlines"}, "must not contain line breaks or other control characters"),
    ({"name": "a\u202eb"}, "must not contain line breaks or other control characters"),
    ({"name": f"copy of dtd_{'x' * 9}"}, "A name must not contain an API key."),
    ({"expires": "30"}, "Select a valid choice."),
]


def test_key_creation_names_its_errors(ada: Client) -> None:
    for fields, message in WRONG:
        assert message in body(create_key(ada, **fields)), fields
    assert ApiKey.objects.count() == 1
    for name in ("a\ud800b", "a\u2028b", "a\u2029b", "  "):  # no form can send the first
        with pytest.raises(ValidationError, match="control characters|1 to 100"):
            keys.clean_name(name)


def test_key_creation_form_belongs_to_one_user(acme: Tenant, umbrella: Tenant, ada: Client) -> None:
    form = form_of(body(ada.get(NEW)))
    other = Client()
    other.force_login(umbrella.admin)
    for new_id in (form["new_id"], str(acme.key.pk), f"{acme.key.pk}:forged", ""):
        response = other.post(NEW, {"new_id": new_id, "name": "Mine"})
        assert response.status_code == 200
        assert not ApiKey.objects.filter(name="Mine").exists()


def test_key_is_created_in_the_workspace_that_the_form_names(
    acme: Tenant, umbrella: Tenant, frozen: Tenant, ada: Client
) -> None:
    """That is the one that was looked at, also if the user has switched to another since."""
    Membership.objects.create(
        workspace=umbrella.workspace, user=acme.admin, role=Membership.Role.ADMIN
    )
    assert 'role="alert"' in body(create_key(ada, workspace=str(frozen.workspace.pk)))
    form = {**form_of(body(ada.get(NEW))), "name": "CRM sync", "expires": "never"}
    ada.post(page_of(umbrella.workspace, "switch"))
    raw_of(ada.post(NEW, form))
    assert ApiKey.objects.get(name="CRM sync").workspace == acme.workspace
    raw_of(create_key(ada, "Another"))
    assert ApiKey.objects.get(name="Another").workspace == umbrella.workspace


def test_keys_are_created_and_rolled_on_plans_with_the_api_only(
    freebie: Tenant, acme: Tenant, client: Client, settings: Any
) -> None:
    client.force_login(freebie.admin)
    upgrade = f'<a href="{settings.UPGRADE_URL}">Change the plan</a>'
    data = {"name": "New", "new_id": "x", "old_key_ends": "0", "expires": "never"}
    for url in (NEW, page_of(freebie.key, "roll")):
        for response in (client.get(url, follow=True), client.post(url, data, follow=True)):
            assert upgrade in body(response)
    # Of several workspaces, the others can have new keys.
    Membership.objects.create(workspace=acme.workspace, user=freebie.admin, role="ADMIN")
    client.post(page_of(acme.workspace, "switch"))
    fields = {**form_of(body(client.get(NEW))), "name": "New", "expires": "never"}
    refused = client.post(NEW, {**fields, "workspace": str(freebie.workspace.pk)}, follow=True)
    assert upgrade in body(refused)
    raw_of(client.post(NEW, fields))
    assert set(ApiKey.objects.filter(workspace=freebie.workspace)) == {freebie.key}
    client.post(page_of(freebie.key, "revoke"))
    freebie.key.refresh_from_db()
    assert freebie.key.revoked_at is not None
    client.post(page_of(freebie.key, "delete"))
    assert not ApiKey.objects.filter(workspace=freebie.workspace).exists()


# --- Revoking and deleting


def test_key_revocation_keeps_it_listed_and_closes_the_api(acme: Tenant, ada: Client) -> None:
    ApiKey.objects.filter(pk=acme.key.pk).update(last_used_at=at("2026-01-05 10:00:00"))
    assert "2026-01-05 10:00:00 UTC" in body(ada.get(page_of(acme.key, "revoke")))
    assert acme.get("/me").status == 200  # it only asks
    html = body(ada.post(page_of(acme.key, "revoke"), follow=True))
    named = f"<code>{acme.key.prefix}…</code> Acme sync</a> is revoked."
    assert f'<a href="{page_of(acme.key)}">{named}' in html
    assert "Revoked" in html
    assert acme.get("/me").status == 401
    ada.post(page_of(acme.key, "revoke"))  # which changes nothing
    entry = AuditEntry.objects.get(action=Action.KEY_REVOKED)
    assert (entry.key_prefix, entry.person) == (acme.key.prefix, acme.admin.username)


def test_key_deletion_keeps_it_in_the_audit_log_only(acme: Tenant, ada: Client) -> None:
    assert acme.key.name in body(ada.get(page_of(acme.key, "delete")))
    assert acme.get("/me").status == 200
    ada.post(page_of(acme.key, "delete"))
    assert "No keys yet" in body(ada.get(LIST))
    assert acme.get("/me").status == 401
    acme.key.delete_by(by=acme.admin)  # again, which records nothing
    entry = AuditEntry.objects.get(action=Action.KEY_DELETED)
    assert (entry.key_name, entry.key_prefix) == (acme.key.name, acme.key.prefix)
