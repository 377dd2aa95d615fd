"""Every response carries a Request-Id that leads to the log and to the audit entry."""

import re

from tests.support import factories
from tests.support.factories import Tenant
from tests.support.server import Server, eventually


def test_request_id_is_ours_another_one_for_every_response_and_in_the_log(
    server: Server, acme: Tenant
) -> None:
    server.store.refuse()
    document = factories.listed(acme.workspace, 1)[0]
    responses = [
        server.get("/me", acme.raw, request_id="mine", x_request_id="mine"),
        server.get("/me"),
        server.request("/elsewhere"),
        server.get("/documents?limit=0", acme.raw),
        server.get("/documents/x", acme.raw),
        server.get("/me", acme.raw, "POST"),
        server.get("/me", acme.raw, host="evil.example"),
        server.get(f"/documents/{document.id}/download", acme.raw),
    ]
    assert [response.status for response in responses] == [200, 401, 404, 400, 404, 405, 400, 503]
    ids = {response.headers["request-id"] for response in responses}
    assert all(re.fullmatch("[0-9a-f]{32}", id) for id in ids)
    assert len(ids) == len(responses)
    assert eventually(lambda: all(id in server.log() for id in ids))
