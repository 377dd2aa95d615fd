"""The documents in the admin, read-only: for support and superusers, and for workspace admins."""

import re
from urllib.parse import quote

import pytest
from django.test import Client
from django.utils import timezone

from audit.models import Action
from documents.models import Document
from tests.support import factories
from tests.support.cast import entries, page_of, path_of, text_of
from tests.support.factories import Tenant, at
from tests.support.staff import DOCUMENTS, HISTORY, body, shown, signed_in, support


@pytest.fixture
def lease(acme: Tenant) -> Document:
    """A document that is deleted."""
    then, later = at("2026-03-05 10:00:00"), at("2027-03-05 10:00:00")
    return factories.document(acme.workspace, title="Lease <b>", deleted_at=then, expires_at=later)


def test_documents_admin_shows_nothing_unasked_and_finds_titles_within_a_workspace(
    lease: Document, acme: Tenant, umbrella: Tenant, sam: Client, ada: Client
) -> None:
    assert shown(sam, "", DOCUMENTS).result_list == []
    assert "Which customer’s documents?" in body(sam.get(DOCUMENTS))
    mine, *others = factories.listed(acme.workspace, 3, title=lambda n: f"Ähnlich {n}")
    [theirs] = factories.listed(umbrella.workspace, 1, title="Ähnlich 0")
    within = f"workspace_id__exact={acme.workspace.pk}"
    assert shown(sam, f"?q=ahn+0&{within}", DOCUMENTS).result_list == [mine]
    assert shown(ada, "?q=ahn+0", DOCUMENTS).result_list == [mine]
    text = text_of(body(sam.get(f"{DOCUMENTS}?q=zzz&{within}")))
    assert "Workspace: Acme ✕ Clear all No document of Acme has “zzz” in its title" in text
    # The lease is deleted, and is found by its id alone.
    assert set(shown(ada, "", DOCUMENTS).result_list) == {mine, *others}
    for client in (ada, sam):
        assert shown(client, f"?q=lease&{within}", DOCUMENTS).result_list == []
        assert client.get(f"{DOCUMENTS}?q={lease.pk}")["Location"] == page_of(lease)
    for id in (mine.pk, theirs.pk, f"the id {theirs.pk}, sent"):
        assert sam.get(f"{DOCUMENTS}?q={id}&{within}")["Location"].endswith("/change/")
    for unusable in ("!!", "a b c d e f g h i"):
        html = body(sam.get(f"{DOCUMENTS}?q={quote(unusable)}&{within}"))
        assert "Type an id, or 1 to 8 words of letters or digits" in html


def test_document_page_that_support_opens_is_recorded_and_no_event_of_the_document(
    lease: Document, acme: Tenant, sam: Client, ada: Client
) -> None:
    for _ in range(2):
        sam.get(page_of(lease))
    for entry in entries(Action.DOCUMENT_VIEWED):
        assert (entry.person, entry.address) == ("sam@support.example", "127.0.0.1")
        assert (entry.workspace_name, entry.document_title) == ("Acme", "Lease <b>")
        assert (entry.document_id, len(entry.request_id)) == (lease.id, 32)
    # The workspace's own admins see who has read their document, and need not see themselves.
    timeline = body(ada.get(page_of(lease)))
    assert ("Deleted</b>" in timeline, "Expires</b>" in timeline) == (True, False)
    assert "page opened" not in timeline
    assert "sam@support.example" not in timeline
    assert len(entries(Action.DOCUMENT_VIEWED)) == 2
    html = body(ada.get(f"{HISTORY}?action__exact=document.viewed"))
    for text in ("Document&#x27;s page opened", "sam@support.example", "Lease &lt;b&gt;"):
        assert text in html


@pytest.mark.parametrize("who", ["sam", "ada"])
def test_document_page_shows_its_people_what_happened_and_who_downloaded_it(
    acme: Tenant, who: str, request: pytest.FixtureRequest
) -> None:
    client: Client = request.getfixturevalue(who)
    times = [at(f"2026-{day} 09:00:00") for day in ("01-01", "01-01", "03-01")]
    document = factories.document(
        acme.workspace, "DECLINED", created_at=times[0], sent_at=times[1], file_size=189
    )
    declined = {"sent_at": times[1], "declined_at": times[2], "decline_reason": "Too <dear>"}
    factories.recipient(document, "SIGNER", "DECLINED", name="Ann", order=1, **declined)
    factories.recipient(document, "APPROVER", "PENDING", name="Bob", order=2)
    factories.recipient(document, "CC", "BOUNCED", name="Eve", order=3, sent_at=times[1])
    factories.recipient(document, "CC", "SENT", name="Flo", order=4)
    for program in ("curl/8.5.0", "acme-sync/2.0 (nightly)"):
        response = acme.get(path_of(document), **{"User-Agent": program})
        assert response.status == 200
    html = body(client.get(page_of(document)))
    assert "/download" not in html
    assert re.findall(r"\b189\b.{5}", html) == ["189\xa0byte"]
    people, timeline, downloads = (
        text_of(part) for part in re.findall(r"(?s)<section.*?</section>", html)
    )
    assert re.search(r"✕ Ann \S+@\S+ Declined", people)
    assert "Too &lt;dear&gt;" in people
    assert re.search(r"… Bob \S+@\S+ Pending", people)
    assert re.search(r"✕ Eve \S+@\S+ Bounced · Cc Flo", people)
    today = str(timezone.now().date())
    assert re.findall(r"\d{4}-\d\d-\d\d", timeline) == ["2026-01-01", "2026-03-01", today]
    assert re.findall(r'<li class="gap">(.*)</li>', html)[0] == "59 days"
    assert "Sent 09:00:00" not in timeline
    assert re.search(r"Downloaded \(original\) with dtd_.*, 2 times in all", timeline)
    for program in ("curl/8.5.0", "acme-sync/2.0"):
        assert re.search(rf"127.0.0.1, {program} {today} \S+ UTC 1\b", downloads)
    Document.objects.update(signing_order="SEQUENTIAL")
    assert "2. Pending" in text_of(body(client.get(page_of(document))))


# --- Workspace admins


def test_start_page_says_for_whom_documents_wait(acme: Tenant, ada: Client) -> None:
    for title, statuses in (("Lease", ("BOUNCED", "PENDING")), ("Offer", ("SIGNED", "VIEWED"))):
        since = at("2026-03-01 09:00:00")
        document = factories.document(acme.workspace, "SENT", title=title, sent_at=since)
        for order, status in enumerate(statuses, 1):
            factories.recipient(document, "SIGNER", status, name=f"{title} {order}", order=order)
    waiting = text_of(body(ada.get("/admin/"))).partition("Longest waiting")[2]
    assert re.search(r"Waits for Sent .*Lease 1: the e-mail bounced \d+ days ago", waiting)
    assert "Offer Offer 2 " in waiting
    factories.recipient(document, "SIGNER", "SENT", name="Offer 3", order=3)
    assert "Offer Offer 2, 2 in all" in text_of(body(ada.get("/admin/")))


def test_timeline_of_an_admin_has_no_entries_of_another_workspace(
    acme: Tenant, umbrella: Tenant
) -> None:
    document = factories.document(umbrella.workspace)
    assert umbrella.get(f"/documents/{document.pk}/download").status == 200
    Document.objects.filter(pk=document.pk).update(workspace=acme.workspace)
    assert "Umbrella" not in body(signed_in(acme.admin).get(page_of(document)))
    assert "Umbrella sync" in body(signed_in(support()).get(page_of(document)))


def test_timeline_says_how_a_document_ended(acme: Tenant, sam: Client) -> None:
    """When it was cancelled, no field has."""
    for status, ended in (("CANCELLED", "Cancelled"), ("DECLINED", "Declined")):
        document = factories.document(acme.workspace, status)
        timeline = text_of(body(sam.get(page_of(document)))).partition("What happened")[2]
        assert f"{ended} at an unknown time Times of" in timeline
        [last] = re.findall(r'<li class="ended">', body(sam.get(page_of(document))))
    document = factories.document(acme.workspace, "COMPLETED")
    assert "unknown time" not in body(sam.get(page_of(document)))
