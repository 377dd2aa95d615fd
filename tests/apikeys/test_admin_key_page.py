"""The page of one key: what it says, to whom, and that nobody changes a key there."""

import re
from datetime import timedelta
from typing import Any

from django.db.models.functions import Now
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from apikeys.models import ApiKey
from apikeys.usage.models import KeyAddress
from tests.apikeys.test_admin_keys import LIST, page
from tests.support import staff, usage
from tests.support.factories import Tenant, at, uid
from tests.support.staff import body
from workspaces.models import Membership


def used(tenant: Tenant) -> None:
    """Usage of the tenant's key: three days, two addresses, one refused request."""
    for back, counts in enumerate([{"ok": 1200, "downloads": 30}, {"errors": 3}, {"limited": 6}]):
        usage.used(tenant.key.pk, tenant.workspace.pk, back, **counts)
    ApiKey.objects.filter(pk=tenant.key.pk).update(
        created_at=timezone.now() - timedelta(days=9),
        last_used_at=timezone.now(),
    )
    for number, days in ((9, 0), (7, 8)):
        KeyAddress.objects.create(
            key_id=tenant.key.pk,
            address=f"203.0.113.{number}",
            user_agent="acme-sync/1.0",
            last_seen=timezone.now() - timedelta(days=days),
            requests=600 + number,
        )
    usage.refused(
        created_at=at("2026-03-01 09:30:00"),
        request_id="a" * 32,
        status=429,
        response_text="More than 300 requests in one minute. Retry in 7 seconds.",
        reason="The true reason.",
        key_id=tenant.key.pk,
        workspace_id=tenant.workspace.pk,
    )


def text(response: Any) -> str:
    """The main part of a page."""
    assert response.status_code == 200
    return body(response).split("<main")[1]


def test_key_page_says_all_that_is_known_of_the_key(acme: Tenant, ada: Client) -> None:
    used(acme)
    acme.key.revoke(by=acme.admin)
    html = text(ada.get(page(acme.key)))
    for expected in (
        *("Acme sync", f"{acme.key.prefix}", "Revoked", "Acme", f"by {acme.admin.username}"),
        *("203.0.113.9", "203.0.113.7", "acme-sync/1.0", "609", "607"),
        *("1,209", "30", "<svg", "2026-03-01 09:30:00 UTC", "a" * 32),
        f"key_id__exact={acme.key.pk}",
        reverse("admin:workspaces_workspace_change", args=[acme.workspace.pk]),
    ):
        assert expected in html, expected
    assert "Retry in 7 seconds." in html
    assert "The true reason." not in html
    assert acme.raw not in html
    assert acme.key.digest not in html


def test_key_page_offers_actions_and_no_change_to_its_admin(acme: Tenant, ada: Client) -> None:
    html = text(ada.get(page(acme.key)))
    assert not re.search(r'<(input|select|textarea)[^>]*name="(name|workspace|prefix)"', html)
    assert ada.post(page(acme.key), {"name": "Other"}).status_code == 405
    history = ada.get(page(acme.key, "history"))["Location"]
    assert history.endswith(f"?key_id__exact={acme.key.pk}")
    for name in ("roll", "revoke", "delete"):
        assert page(acme.key, name) in html
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now())
    html = text(ada.get(page(acme.key)))
    assert page(acme.key, "delete") in html
    assert page(acme.key, "roll") not in html
    assert "Expired" in html


def test_support_staff_who_are_admins_too_have_only_the_keys_of_their_workspace(
    acme: Tenant, umbrella: Tenant
) -> None:
    sam = staff.support()
    Membership.objects.create(workspace=umbrella.workspace, user=sam, role="ADMIN")
    client = staff.signed_in(sam)
    for query in ({}, {"workspace": str(acme.workspace.pk)}, {"q": acme.key.prefix}):
        assert acme.key.name not in text(client.get(LIST, query))
    assert umbrella.key.name in text(client.get(LIST))
    assert client.get(page(acme.key)).status_code == 404
    for key in (acme.key, umbrella.key):
        client.post(page(key, "revoke"))
    assert acme.get("/me").status == 200
    assert umbrella.get("/me").status == 401


def test_key_page_of_a_deleted_key_leads_to_the_audit_log(
    acme: Tenant, umbrella: Tenant, ada: Client
) -> None:
    acme.key.delete_by(by=acme.admin)
    log = reverse("admin:audit_auditentry_changelist")
    assert ada.get(page(acme.key))["Location"] == f"{log}?key_id__exact={acme.key.pk}"
    assert staff.signed_in(umbrella.admin).get(page(acme.key)).status_code == 404
    for key_id in ("x", uid(9), "%00"):
        assert ada.get(f"{LIST}{key_id}/change/").status_code == 404
