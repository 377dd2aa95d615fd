"""The receiver of `make run`: its endpoint, and the command that completes a document."""

import contextlib
import re
import socket
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import override_settings

from config.dev.demo import receiver_variables
from documents import demo
from documents.models import Document
from events.models import EventType
from events.webhooks import demo as webhooks
from events.webhooks import services
from events.webhooks.models import Endpoint
from tests.support import factories
from tests.support.factories import Tenant
from workspaces.models import Membership, Workspace
from workspaces.plans import Plan


@pytest.fixture
def demo_acme(acme: Tenant) -> Workspace:
    workspace = Workspace.objects.create(id=demo.ACME.id, name="Acme", plan=Plan.PRO)
    Membership.objects.create(workspace=workspace, user=acme.admin, role=Membership.Role.ADMIN)
    return workspace


def port_of(endpoint: Endpoint) -> int:
    [port] = re.findall(r"^http://127\.0\.0\.1:(\d+)/$", endpoint.url)
    return int(port)


def test_receiver_s_endpoint_is_created_once_and_moves_if_its_port_is_taken(
    demo_acme: Workspace, acme: Tenant
) -> None:
    before = webhooks.receiver(demo_acme, acme.admin)
    endpoint = Endpoint.objects.get()
    assert before is not None
    assert before[0] == port_of(endpoint)
    assert before[1].startswith("whsec_")
    assert (endpoint.workspace, endpoint.types) == (demo_acme, EventType.values)
    assert webhooks.receiver(demo_acme, acme.admin) == before
    with contextlib.closing(socket.create_server(("127.0.0.1", before[0]))):
        after = webhooks.receiver(demo_acme, acme.admin)
    assert after == (port_of(Endpoint.objects.get()), before[1]) != before


def test_receiver_is_not_started_if_a_user_has_changed_or_deleted_its_endpoint(
    demo_acme: Workspace, acme: Tenant
) -> None:
    assert webhooks.receiver(demo_acme, acme.admin)
    endpoint = Endpoint.objects.get()
    with override_settings(SECRET_KEY="another one, so the secret cannot be decrypted"):
        assert webhooks.receiver(demo_acme, acme.admin) is None
    kept = endpoint.url
    for url in ("https://hooks.example.com/", f"{kept}path"):
        services.change(endpoint, url=url, types=endpoint.types, label="", by=acme.admin)
        endpoint.refresh_from_db()
        assert webhooks.receiver(demo_acme, acme.admin) is None
    services.change(endpoint, url=kept, types=endpoint.types, label="", by=acme.admin)
    assert receiver_variables("http://127.0.0.1:8000")
    services.delete(endpoint, by=acme.admin)
    assert receiver_variables("http://127.0.0.1:8000") == {}


def test_receiver_is_not_started_on_a_database_without_the_demo(acme: Tenant) -> None:
    assert receiver_variables("http://127.0.0.1:8000") == {}
    assert not Endpoint.objects.exists()


def test_complete_document_completes_the_oldest_one_that_waits(
    demo_acme: Workspace, acme: Tenant
) -> None:
    factories.document(acme.workspace, "SENT", created_at=factories.at("2020-01-01 00:00:00"))
    for status in ("DRAFT", "DECLINED", "COMPLETED"):
        factories.document(demo_acme, status)
    for made in [factories.document(demo_acme, status) for status in ("VIEWED", "SENT")]:
        for role, status in (("SIGNER", "SENT"), ("APPROVER", "APPROVED"), ("CC", "SENT")):
            factories.recipient(made, role, status)
        printed = StringIO()
        call_command("complete_document", stdout=printed)
        assert printed.getvalue() == f"Completed: {made.title} ({made.id})\n"
        document = Document.objects.get(pk=made.pk)
        files = [file for file in (document.signed, document.certificate) if file]
        factories.saved_objects += [file.object_key for file in files]
        assert (document.status, len(files)) == ("COMPLETED", 2)
        recipients = dict(document.recipients.values_list("role", "status"))
        assert recipients == {"SIGNER": "SIGNED", "APPROVER": "APPROVED", "CC": "SENT"}
        assert document.recipients.filter(completed_at=None).count() == 2
    with pytest.raises(CommandError, match="No document of the demo's workspace Acme waits"):
        call_command("complete_document")
