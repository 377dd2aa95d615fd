"""The keys in the admin: listed, created once, rolled, revoked, deleted, by their admins."""

import logging
import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone
from django.utils.html import strip_tags

from apikeys import keys
from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from config.console.formatting import time_tag
from tests.support import factories, staff, usage
from tests.support.cast import create_key, form_of, page_of, raw_of, text_of
from tests.support.client import get
from tests.support.database import whole_database
from tests.support.factories import Tenant, at
from tests.support.staff import KEYS, NEW_KEY, body
from workspaces.models import Session, Workspace

# --- The list


def test_key_list_says_all_of_a_key_that_may_be_seen_and_its_end(acme: Tenant, ada: Client) -> None:
    key = acme.key
    ApiKey.objects.filter(pk=key.pk).update(last_used_at=at("2026-01-05 10:00:00"))
    html = body(ada.get(KEYS))
    for text in (key.name, f"{key.prefix}…", key.created_at.isoformat(), "Active"):
        assert text in html
    assert 'datetime="2026-01-05T10:00:00+00:00"' in html
    assert key.digest not in html
    found = ada.get(KEYS, {"q": f" {acme.raw}", "p": "1"})
    assert found["Location"] == f"{KEYS}?q={key.prefix}&p=1"
    assert key.name in body(ada.get(found["Location"]))
    ApiKey.objects.update(last_used_at=None)
    new, _ = acme.key.roll(by=acme.admin, ends_in=timedelta(days=7))
    text = text_of(body(ada.get(KEYS)))
    key.refresh_from_db()
    end = f"{key.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    assert f"{acme.key} Expires soon until {end} replaced by {new.prefix}… 0 requests" in text
    text = text_of(body(ada.post(page_of(acme.key, "revoke"), follow=True)))
    assert f"Programs that still need access have {new}" in text
    assert f"{acme.key} Revoked just now replaced by {new.prefix}… 0 requests" in text


@pytest.mark.parametrize("how", ["revoke", "delete"])
def test_rolled_key_names_its_successor_only_while_that_one_works(
    acme: Tenant, ada: Client, how: str
) -> None:
    new, _ = acme.key.roll(by=acme.admin, ends_in=timedelta(days=7))
    expires, rolled = f"{acme.key} expires soon", f"rolled already, and replaced by {new}"
    assert expires not in text_of(body(ada.get(KEYS)))
    ApiKey.objects.filter(pk=acme.key.pk).update(last_used_at=timezone.now())
    text = text_of(body(ada.get(KEYS)))
    assert f"{acme.key} is still used , though it was rolled and ends on" in text
    assert f"just now : give its program {new} before." in text
    assert rolled in text_of(body(ada.get(page_of(acme.key, "roll"))))
    usage.used(acme.key.pk, acme.workspace.pk, ok=42, address="192.0.2.9", user_agent="sync/2")
    use = "(just now) from 192.0.2.9 by sync/2. Requests in 30 days: 42."
    assert use in text_of(body(ada.get(page_of(acme.key, how))))
    without = f"Without this key, {acme.key} has no successor. It ends on"
    assert without in text_of(body(ada.get(page_of(new, how))))
    text = text_of(body(ada.post(page_of(new, how), follow=True)))
    assert expires in text
    assert (f"replaced by {new.prefix}… , which has ended" in text) is (how == "revoke")
    assert rolled not in text_of(body(ada.get(page_of(acme.key, "roll"))))
    assert "Without this key" not in text_of(body(ada.get(page_of(acme.key, how))))
    text = text_of(body(ada.post(page_of(acme.key, "delete"), follow=True)))
    assert "If a program still needs access, create another key ." in text


# --- The page of one


def test_key_page_says_all_that_is_known_of_the_key_and_what_can_be_done_with_it(
    acme: Tenant, ada: Client
) -> None:
    assert ada.post(page_of(acme.key), {"name": "Other"}).status_code == 405
    html = body(ada.get(page_of(acme.key)))
    for name in ("roll", "revoke", "delete"):
        assert page_of(acme.key, name) in html
    assert body(ada.get(page_of(acme.key, "roll"))).count("so that programs can change over") == 1
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now())
    html = body(ada.get(page_of(acme.key)))
    assert page_of(acme.key, "delete") in html
    assert page_of(acme.key, "roll") not in html
    assert "Expired" in html
    acme.key.revoke(by=acme.admin)
    ids, client = (acme.key.pk, acme.workspace.pk), "acme-sync/1.0"
    usage.used(*ids, ok=1200, downloads=30, address="203.0.113.0")
    usage.used(*ids, 1, errors=9, address="203.0.113.1", user_agent=client)
    of_key = vars(acme.key.snapshot())
    flood: dict[str, Any] = {"created_at": at("2026-03-01 09:30:00"), "requests": 420}
    usage.refused(**of_key, **flood, reason="The true reason.")
    html = body(ada.get(page_of(acme.key)))
    for expected in (
        *("Acme sync", f"{acme.key.prefix}", "Revoked", "Acme", f"by {acme.admin.username}"),
        *("203.0.113.0", "203.0.113.1", "acme-sync/1.0", "requests 1,209 downloads 30 "),
        *("09:30:00", "420 × 404", "There is no such document in this workspace."),
    ):
        assert expected in text_of(html), expected
    assert "The true reason." not in html
    assert acme.key.digest not in html


def test_support_staff_who_are_admins_too_have_only_the_keys_of_their_workspace(
    acme: Tenant, umbrella: Tenant
) -> None:
    sam = staff.support()
    staff.member(umbrella.workspace, sam.username, "ADMIN")
    client = staff.signed_in(sam)
    own, within = [umbrella.key], f"?workspace_id__exact={acme.workspace.pk}"
    for query, found in (("", own), (within, []), (f"?q={acme.key.prefix}", [])):
        assert list(staff.shown(client, query, KEYS).result_list) == found
    assert client.get(page_of(acme.key)).status_code == 404
    for key in (acme.key, umbrella.key):
        client.post(page_of(key, "revoke"))
    assert acme.get("/me").status == 200
    assert umbrella.get("/me").status == 401


# --- Creating


def test_key_creation_needs_a_name_and_may_have_an_expiry(ada: Client) -> None:
    html = body(ada.get(NEW_KEY)).split("<main")[1]
    assert re.findall(r'<(?:input|select) [^>]*name="(\w+)"[^>]* required', html) == ["name"]
    assert '<option value="90" selected>' in html
    raw_of(create_key(ada))
    assert ApiKey.objects.get(name="CRM sync").expires_at is None
    response = create_key(ada, "  Ünï <b>& co</b> 👩‍💻  ", expires="90")
    key = ApiKey.objects.get(name="Ünï <b>& co</b> 👩‍💻")
    assert "<b>& co" not in body(ada.get(KEYS))
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
    pages = [body(ada.get(url)) for url in (KEYS, page_of(ApiKey.objects.get(name="CRM sync")))]
    for place in (caplog.text, response.headers, response.cookies, sessions, pages):
        assert raw not in str(place)
    assert not LogEntry.objects.exists()
    assert raw not in str(whole_database())


@pytest.mark.parametrize("rolled", [False, True])
def test_key_form_that_is_sent_again_creates_nothing_and_says_so(
    acme: Tenant, ada: Client, rolled: bool
) -> None:
    url = page_of(acme.key, "roll") if rolled else NEW_KEY
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


def test_key_creation_and_rolling_are_refused_if_there_are_too_many(
    acme: Tenant, ada: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keys, "MOST_ACTIVE", 2)
    raw_of(create_key(ada))
    text = "a workspace may have 2 active keys. Revoke or delete one that is not needed."
    fields = {"name": "Third", "old_key_ends": "24", "expires": "never"}
    for url in (NEW_KEY, page_of(acme.key, "roll")):
        form = form_of(body(ada.get(url))) | fields
        assert text in body(ada.post(url, form, follow=True))
    with pytest.raises(CommandError, match="may have 2 active keys"):
        call_command("issue_key", str(acme.workspace.pk), "Third", "--by", acme.admin.username)
    assert ApiKey.objects.count() == 2
    assert not AuditEntry.objects.filter(action=Action.KEY_ROLLED).exists()
    assert acme.get("/me").status == 200
    raw_of(roll(ada, acme.key, "0"))  # it ends at once
    for act in ("revoke", "delete"):
        ada.post(page_of(ApiKey.objects.active().latest("created_at"), act))
        raw_of(create_key(ada))
    assert ApiKey.objects.active().count() == 2


WRONG: list[tuple[dict[str, str], str]] = [
    ({"name": "   "}, "This field is required."),
    ({"name": "x" * 101}, "at most 100 characters"),
    ({"name": f"copy of dtd_{'x' * 9}"}, "A name must not contain an API key."),
    ({"expires": "30"}, "Select a valid choice."),
]


def test_key_creation_names_its_errors(ada: Client) -> None:
    for fields, message in WRONG:
        assert message in body(create_key(ada, **fields)), fields
    assert ApiKey.objects.count() == 1


def test_key_creation_form_belongs_to_one_user(acme: Tenant, umbrella: Tenant, ada: Client) -> None:
    form = form_of(body(ada.get(NEW_KEY)))
    other = staff.signed_in(umbrella.admin)
    for new_id in (form["new_id"], str(acme.key.pk), f"{acme.key.pk}:forged", ""):
        response = other.post(NEW_KEY, {"new_id": new_id, "name": "Mine"})
        assert response.status_code == 200
        assert not ApiKey.objects.filter(name="Mine").exists()


def test_key_is_created_in_the_workspace_that_the_form_names(
    acme: Tenant, umbrella: Tenant, frozen: Tenant, ada: Client
) -> None:
    """That is looked at then, also if the user has switched to another since, on another plan."""
    staff.member(umbrella.workspace, acme.admin.username, "ADMIN")
    assert create_key(ada, workspace=str(frozen.workspace.pk)).status_code == 403
    form = {**form_of(body(ada.get(NEW_KEY))), "name": "CRM sync", "expires": "never"}
    ada.post(page_of(umbrella.workspace, "switch"))
    Workspace.objects.filter(pk=umbrella.workspace.pk).update(plan="FREE")
    response = ada.post(NEW_KEY, form)
    raw_of(response)
    assert "data-cookie" in body(response)  # links lead to the key's workspace
    assert ApiKey.objects.get(name="CRM sync").workspace == acme.workspace
    assert "CRM sync" in body(ada.get(KEYS))


def test_keys_are_created_and_rolled_on_plans_with_the_api_only(
    freebie: Tenant, acme: Tenant, client: Client, settings: Any
) -> None:
    client.force_login(freebie.admin)
    upgrade = f'<a href="{settings.UPGRADE_URL}">Change the plan</a>'
    data = {"name": "New", "new_id": "x", "old_key_ends": "0", "expires": "never"}
    for url in (staff.START, KEYS, page_of(freebie.key)):
        assert not re.search(f"{NEW_KEY}|/roll/", body(client.get(url)))
    for url in (NEW_KEY, page_of(freebie.key, "roll")):
        for response in (client.get(url, follow=True), client.post(url, data, follow=True)):
            assert upgrade in body(response)
    # Of several workspaces, the others can have new keys.
    staff.member(acme.workspace, freebie.admin.username, "ADMIN")
    client.post(page_of(acme.workspace, "switch"))
    fields = {**form_of(body(client.get(NEW_KEY))), "name": "New", "expires": "never"}
    refused = client.post(NEW_KEY, {**fields, "workspace": str(freebie.workspace.pk)}, follow=True)
    assert upgrade in body(refused)
    raw_of(client.post(NEW_KEY, fields))
    assert set(ApiKey.objects.filter(workspace=freebie.workspace)) == {freebie.key}
    client.post(page_of(freebie.key, "revoke"))
    freebie.key.refresh_from_db()
    assert freebie.key.revoked_at is not None
    client.post(page_of(freebie.key, "delete"))
    assert not ApiKey.objects.filter(workspace=freebie.workspace).exists()


# --- Rolling


def roll(client: Client, key: ApiKey, ends: str = "24", **fields: str) -> Any:
    form = form_of(body(client.get(page_of(key, "roll"))))
    data = {**form, "old_key_ends": ends, "expires": "never", **fields}
    return client.post(page_of(key, "roll"), data)


def left(key: ApiKey) -> timedelta:
    key.refresh_from_db()
    assert key.expires_at is not None
    return key.expires_at - timezone.now()


@pytest.mark.parametrize(("hours", "expires_in"), [(0, None), (1, None), (24, 300), (168, None)])
def test_key_roll_creates_a_key_and_the_old_one_ends_later(
    acme: Tenant, ada: Client, hours: int, expires_in: int | None
) -> None:
    if expires_in:  # days
        ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now() + timedelta(expires_in))
    response = roll(ada, acme.key, str(hours))
    new = ApiKey.objects.exclude(pk=acme.key.pk).get()
    assert (new.workspace, new.name, new.expires_at) == (acme.workspace, "Acme sync", None)
    assert timedelta(hours=hours - 1) < left(acme.key) <= timedelta(hours=hours)
    ends = f"{acme.key.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    assert (f"works until {ends}" if hours else "has ended") in strip_tags(body(response))
    assert acme.get("/me").status == (200 if hours else 401)
    assert get("/api/v1/me", f"Bearer {raw_of(response)}").status == 200
    entry = AuditEntry.objects.get(action=Action.KEY_ROLLED)
    assert (entry.key_id, entry.person) == (acme.key.pk, acme.admin.username)
    assert entry.detail == f"ends {ends[:16]} UTC; replaced by {new.prefix}… Acme sync"
    assert AuditEntry.objects.filter(action=Action.KEY_CREATED, key_id=new.pk).count() == 1
    assert (">Rolled</span>" in body(ada.get(page_of(acme.key)))) is (hours == 0)


def test_key_roll_never_makes_a_key_expire_later(acme: Tenant, ada: Client) -> None:
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now() + timedelta(minutes=30))
    for ends in ("24", "never"):
        roll(ada, acme.key, ends)
        assert left(acme.key) <= timedelta(minutes=30)
    other, _ = factories.issue(acme.workspace, "Other", acme.admin)
    assert "works until you revoke it" in body(roll(ada, other, "never"))
    other.refresh_from_db()
    assert other.expires_at is None
    for ends in ("", "2", "-1", "x"):
        assert "Nothing was saved." in body(roll(ada, acme.key, ends))


def test_key_that_ended_cannot_be_rolled(acme: Tenant, ada: Client) -> None:
    url = page_of(acme.key, "roll")
    form = form_of(body(ada.get(url))) | {"old_key_ends": "0", "expires": "never"}
    acme.key.revoke(by=acme.admin)
    for response in (ada.get(url, follow=True), ada.post(url, form, follow=True)):
        assert "has ended already" in body(response)
    assert ApiKey.objects.count() == 1


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
    assert "No keys yet" in body(ada.get(KEYS))
    assert acme.get("/me").status == 401
    acme.key.delete_by(by=acme.admin)  # again, which records nothing
    entry = AuditEntry.objects.get(action=Action.KEY_DELETED)
    assert (entry.key_name, entry.key_prefix) == (acme.key.name, acme.key.prefix)
