"""schemathesis runs the OpenAPI document against a server, with valid and invalid input."""

import json
import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit
from uuid import UUID

from documents.api.views import STATUSES
from tests.support import factories, openapi
from tests.support.factories import Tenant
from tests.support.server import ROOT, Server

KEYS = 40  # 300 requests a minute each: more than one client makes
FILES = Path(__file__).parent.parent / "support" / "fuzzing"
ID = openapi.SCHEMA["paths"]["/api/v1/documents/{id}"]["get"]["parameters"][0]["examples"]
SECONDS = os.environ.get("FUZZ_SECONDS")  # `make fuzz`: as long as this, each time otherwise

# path → the statuses that a client with a valid key can get.
EXPECTED = {
    "/api/v1/me": {200, 304, 401, 405},
    "/api/v1/documents": {200, 304, 400, 401, 405},
    "/api/v1/documents/{id}": {200, 304, 401, 404, 405},
    "/api/v1/documents/{id}/download": {200, 206, 304, 400, 401, 404, 405, 412, 416},
    "/api/v1/search": {200, 304, 400, 401, 405},
    "/api/v1/events": {200, 304, 400, 401, 405},
    "/api/v1/openapi.json": {200, 405, 412},
}


def cursor(tenant: Tenant, query: str) -> str:
    """The nextCursor of a first page of one."""
    response = tenant.get(f"/documents?limit=1{query}")
    assert isinstance(response.json()["nextCursor"], str)
    return str(response.json()["nextCursor"])


def test_schemathesis_finds_no_failures(
    server: Server, acme: Tenant, umbrella: Tenant, tmp_path: Path
) -> None:
    documents = [
        factories.document(acme.workspace, status) for status in STATUSES for _ in range(2)
    ]
    # The document of the examples exists.
    known = [
        factories.document(acme.workspace, "COMPLETED", id=UUID(ID["Document"]["value"])),
        *documents[:8],
    ]
    for document in known:
        factories.recipient(document)
    foreign = factories.document(umbrella.workspace, "COMPLETED")
    ids = [str(document.id) for document in [*known, foreign]]
    keys = [factories.issue(acme.workspace, f"Key {n}", acme.admin)[1] for n in range(KEYS)]
    cursors = {status: cursor(acme, f"&status={status}") for status in STATUSES}
    after = acme.get("/events?after=now").json()["nextCursor"]
    given = {"keys": keys, "cursors": {"": cursor(acme, "")} | cursors, "after": after}

    configuration = (FILES / "schemathesis.toml").read_text()
    if SECONDS:
        configuration = configuration.replace("deterministic = true", "deterministic = false")
        configuration = configuration.replace("seed = 1\n", "")
    (tmp_path / "schemathesis.toml").write_text(configuration)
    (tmp_path / "ids").write_text("\n".join(f'"{id}"' for id in ids))
    (tmp_path / "given.json").write_text(json.dumps(given))
    command = [str(Path(sys.executable).parent / "schemathesis")]
    command += ["--config-file", "schemathesis.toml", "run", str(openapi.SCHEMA_FILE)]
    command += ["--url", f"http://127.0.0.1:{server.port}", "--checks", "all"]
    command += ["--continue-on-failure", "--report-har-path", "all.har"]
    command += ["--max-time", SECONDS] if SECONDS else []
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.support.fuzzing.hooks",
        "FUZZING": "given.json",
    }
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr

    missing = {(path, status) for path in EXPECTED for status in EXPECTED[path]}
    for entry in json.loads((tmp_path / "all.har").read_text())["log"]["entries"]:
        request, response = entry["request"], entry["response"]
        path, status = urlsplit(request["url"]).path, response["status"]
        headers = {each["name"].lower(): each["value"] for each in response["headers"]}
        is_json = headers.get("content-type") == "application/json"
        body = response["content"].get("text", "").encode() if is_json else None
        openapi.check_response(request["method"], path, status, headers, body)
        missing.discard((openapi.path_of(path), status))
        assert str(foreign.id) not in path or status != 200
    assert SECONDS or missing == set()
