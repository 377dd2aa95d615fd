"""GET /api/v1/documents/{id}; and one 404 for every document that a key cannot reach."""

from collections.abc import Callable
from urllib.parse import quote

import pytest

from tests.support import factories
from tests.support.cast import store_golden
from tests.support.client import compact, golden
from tests.support.factories import Tenant, at, uid
from tests.support.server import Server

ENDPOINTS = ("/documents/{id}", "/documents/{id}/download")
TYPES = ("signed", "original", "certificate")


def test_document_detail_is_the_document_as_the_list_has_it(acme: Tenant) -> None:
    listed = golden("documents")["data"]
    for document in store_golden(acme):
        response = acme.get(f"/documents/{document.id}")
        assert response.status == 200
        [expected] = [each for each in listed if each["id"] == str(document.id)]
        assert response.json() == {"data": expected}
        assert response.body == compact({"data": expected})


def test_document_detail_links_lead_to_it_and_to_its_file(acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    links = acme.get(f"/documents/{document.id}").json()["data"]["links"]
    itself, file = (acme.get(links[name].removeprefix("/api/v1")) for name in ("self", "download"))
    assert itself.json()["data"]["id"] == str(document.id)
    assert file.headers["content-type"] == "application/pdf"


def test_document_detail_reads_an_id_in_either_case_and_ignores_parameters(acme: Tenant) -> None:
    """As RFC 9562 has it for UUIDs; responses write them in lower case."""
    id = str(factories.document(acme.workspace).id)
    expected = acme.get(f"/documents/{id}").same()
    assert acme.get(f"/documents/{id.upper()}").same() == expected
    assert acme.get(f"/documents/{id}?limit=0&type=x&%00=%FF").same() == expected


@pytest.fixture
def own(acme: Tenant) -> str:
    return str(factories.listed(acme.workspace, 1, id=uid(1))[0].id)


def test_document_detail_is_the_same_404_for_unknown_deleted_and_foreign_documents(
    acme: Tenant, umbrella: Tenant
) -> None:
    reference = acme.get(f"/documents/{uid(999)}")
    assert (reference.status, reference.json()) == (404, golden("no_document"))
    gone = factories.document(acme.workspace, "COMPLETED", deleted_at=at("2026-03-01 00:00:00"))
    foreign = factories.document(umbrella.workspace, "COMPLETED")
    for endpoint in (*ENDPOINTS, *(f"{ENDPOINTS[1]}?type={each}" for each in TYPES)):
        for id in (str(uid(999)), str(gone.id), str(foreign.id)):
            assert acme.get(endpoint.format(id=id)).same() == reference.same()
            assert acme.get(endpoint.format(id=id.upper())).same() == reference.same()
        assert umbrella.get(endpoint.format(id=foreign.id)).status == 200


# From the id of a document that exists, as it stands in the path.
MALFORMED: dict[str, Callable[[str], str]] = {
    "a word": lambda id: "x",
    "null": lambda id: "null",
    "no hyphens": lambda id: id.replace("-", ""),
    "misplaced hyphens": lambda id: f"{id[:7]}-{id[7]}{id[9:]}",
    "a URN": lambda id: f"urn:uuid:{id}",
    "no hexadecimal digit": lambda id: f"{id[:-1]}g",
    "a full-width digit": lambda id: quote(f"{id[:-1]}１"),
    "a space after": lambda id: f"{id}%20",
    "a line end after": lambda id: f"{id}%0A",
    "NUL": lambda id: "%00",
    "a percent sign": lambda id: f"{id}%",
    "not UTF-8": lambda id: "%FF%FE",
    "a lone surrogate": lambda id: "%ED%A0%80",
    "a suffix": lambda id: f"{id}.json",
    "SQL": lambda id: quote("' OR 1=1 --"),
    "very long": lambda id: "a" * 4000,
}


def test_document_detail_of_a_malformed_id_is_the_same_404_over_a_socket(
    server: Server, acme: Tenant, own: str
) -> None:
    first = server.get(f"/documents/{uid(999)}", acme.raw)
    assert first.json() == golden("no_document")
    paths = [e.format(id=make(own)) for make in MALFORMED.values() for e in ENDPOINTS]
    responses = {path: server.get(path, acme.raw).same() for path in paths}
    assert responses == dict.fromkeys(paths, first.same())


WRONG = [
    *("{id}/", "{id}//", "{id}/x", "{id}/Download", "{id}/download/", "{id}/download/x"),
    *("{id}//download", "/{id}", "{id}%2F", "{id}%2Fx", "../documents/{id}", "%2E%2E/{id}"),
]


@pytest.mark.parametrize("path", WRONG)
def test_document_detail_of_a_wrong_path_is_another_404_whatever_the_id(
    server: Server, acme: Tenant, umbrella: Tenant, own: str, path: str
) -> None:
    """Consumers delete their copy when a document is not found."""
    wrong = acme.get("/nothing").same()
    assert acme.get("/nothing").headers["error-code"] == "path_not_found"
    foreign = factories.document(umbrella.workspace).id
    for id in (own, own.upper(), uid(999), foreign, "x", "%00", "%FF", "a%0A", "1%0A2"):
        assert acme.get(f"/documents/{path.format(id=id)}").same() == wrong
    assert server.get(f"/documents/{path.format(id=own)}", acme.raw).same() == (
        server.get("/nothing", acme.raw).same()
    )
