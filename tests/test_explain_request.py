"""manage.py explain_request: each cause of a refusal, which the response itself does not reveal."""

import gzip
import json
from io import StringIO
from pathlib import Path
from unittest.mock import patch
from uuid import uuid4

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from apikeys import keys
from tests import factories
from tests.client import Response
from tests.factories import Tenant
from tests.server import Server, eventually

UNKNOWN = "0" * 32


def explained(server: Server, response: Response) -> str:
    """What the command prints about a response."""
    request_id = response.headers["request-id"]
    assert eventually(lambda: request_id in server.log())
    out = StringIO()
    with patch("sys.stdin", StringIO(f"not JSON {request_id}\n{server.log()}")):
        call_command("explain_request", request_id, stdout=out)
    return out.getvalue()


def test_explain_request_says_why_a_key_was_refused(json_server: Server, acme: Tenant) -> None:
    revoked, revoked_raw = factories.issue(acme.workspace, "Old CRM", acme.admin)
    revoked.revoke(by=acme.admin)
    deleted, deleted_raw = factories.issue(acme.workspace, "Older CRM", acme.admin)
    deleted.delete_by(by=acme.admin)
    wrong = acme.raw[:-1] + ("a" if acme.raw[-1] != "a" else "b")
    unknown = keys.generate()
    causes = {
        None: "reason: no Authorization header",
        "nonsense": "reason: the Authorization header is not of the form Bearer dtd_…",
        revoked_raw: "The key “Old CRM” of the workspace “Acme” was revoked at",
        deleted_raw: "The key “Older CRM” of the workspace “Acme” was deleted at",
        wrong: "The key “Acme sync” of the workspace “Acme” is active: the rest of the key",
        unknown: f"No key of this service begins with {unknown[:12]}.",
    }
    responses = {raw: json_server.get("/me", raw) for raw in causes}
    assert len({repr(response.same()) for response in responses.values()}) == 1
    for raw, cause in causes.items():
        text = explained(json_server, responses[raw])
        assert cause in text
        assert raw is None or raw not in text or raw == "nonsense"


def test_explain_request_says_why_a_document_was_not_found(
    json_server: Server, acme: Tenant, umbrella: Tenant
) -> None:
    deleted = factories.document(acme.workspace, deleted_at=timezone.now())
    foreign = factories.document(umbrella.workspace)
    later = uuid4()
    causes = {
        deleted.id: "The document was deleted at",
        foreign.id: "The document belongs to another workspace: “Umbrella”",
        uuid4(): "No document has this id.",
        later: "The document exists now: it was created or restored after the request.",
        "no-uuid": "The id in the path is malformed",
    }
    for path in ("/documents/{}", "/documents/{}/download"):
        responses = {id: json_server.get(path.format(id), acme.raw) for id in causes}
        assert len({repr(response.same()) for response in responses.values()}) == 1
        if path.endswith("download"):
            factories.document(acme.workspace, id=later)
            for id, cause in causes.items():
                assert cause in explained(json_server, responses[id])


def test_explain_request_says_why_everything_else_was_refused(
    json_server: Server, acme: Tenant, freebie: Tenant, frozen: Tenant
) -> None:
    document = factories.document(acme.workspace)
    download = f"/documents/{document.id}/download"
    for raw, path, cause in (
        (freebie.raw, "/me", "plan does not include"),
        (frozen.raw, "/me", "suspended"),
        (acme.raw, f"{download}?type=signed", "not complete"),
        (acme.raw, "/documents?limit=0", "'limit' is not valid"),
    ):
        assert cause in explained(json_server, json_server.get(path, raw))
    json_server.store.refuse()
    assert "Could not connect" in explained(json_server, json_server.get(download, acme.raw))


def test_explain_request_reads_files_and_says_what_it_lacks(tmp_path: Path) -> None:
    logs = [tmp_path / "log", tmp_path / "log.1.gz"]
    logs[0].write_text("")
    logs[1].write_bytes(gzip.compress(f'["{UNKNOWN}"]\n{{"of": "{UNKNOWN}"}}\n'.encode()))
    with pytest.raises(CommandError, match="The log has no request 0{32}.*LOG_FORMAT=json"):
        call_command("explain_request", UNKNOWN, "--log", *map(str, logs))
    with pytest.raises(CommandError, match="The log cannot be read: .*missing"):
        call_command("explain_request", UNKNOWN, "--log", str(tmp_path / "missing"))


def test_explain_request_says_that_nginx_has_responded_itself(tmp_path: Path) -> None:
    line = {
        "time": "2026-03-01T09:30:00+00:00",
        "request_id": UNKNOWN,
        "method": "GET",
        "path": "/api/v1/me",
        "status": 503,
        "client_address": "192.0.2.1",
    }
    log = tmp_path / "access.log.1.gz"
    log.write_bytes(gzip.compress(json.dumps(line).encode() + b"\n"))
    out = StringIO()
    call_command("explain_request", UNKNOWN, "--log", str(log), stdout=out)
    assert "2026-03-01T09:30:00+00:00 nginx GET /api/v1/me 503\n" in out.getvalue()
    assert "client_address: 192.0.2.1\n" in out.getvalue()
    assert "nginx has responded itself" in out.getvalue()
