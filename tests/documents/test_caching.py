"""Caches of clients: entity tags, 304, and what may be stored."""

import contextlib

import pytest

from tests.support import factories
from tests.support.cast import counted, path_of
from tests.support.client import get
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, exchange, request
from tests.support.server import Server

KEPT = {  # the headers that a 304 shares with its 200
    "cache-control": "private, no-cache",
    "vary": "Authorization",
}
LIMITS = {"ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining"}


@pytest.fixture(params=["/me", "/documents", "/documents?limit=2", "/documents/{id}"])
def path(request: pytest.FixtureRequest, acme: Tenant) -> str:
    """Each path that responds with JSON."""
    documents = factories.listed(acme.workspace, 3)
    return str(request.param).format(id=documents[0].id)


def test_json_may_be_kept_but_not_used_without_revalidation(acme: Tenant, path: str) -> None:
    response = acme.get(path)
    assert KEPT.items() <= response.headers.items()
    assert acme.get(path).same() == response.same()
    status, headers, _ = response.same()
    assert acme.get(path, method="HEAD").same() == (status, headers, b"")


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_json_that_the_client_has_is_304_without_a_body(
    acme: Tenant, path: str, method: str
) -> None:
    for sent in ("{}", "W/{}", '"other", {}', '"other" ,W/{},"x"', "*"):
        response = acme.get(path)
        etag = response.headers["etag"]
        same = acme.get(path, method, if_none_match=sent.format(etag))
        assert (same.status, same.body) == (304, b""), sent
        # A cache updates the copy that has the tag of the 304; nginx's gzip makes tags weak.
        assert same.headers["etag"] == (f"W/{etag}" if "W/" in sent else etag)
        assert KEPT.items() <= same.headers.items()
        assert same.headers.keys() >= LIMITS | {"request-id"}
        assert same.headers.get("link") == response.headers.get("link")
        assert "content-type" not in same.headers
    for sent in ('"other"', 'W/"other"', "{}x", "other", ""):
        found = acme.get(path, if_none_match=sent.format(etag.strip('"')))
        assert (found.status, found.headers["etag"]) == (200, etag), sent


def test_tag_changes_with_the_response(acme: Tenant, umbrella: Tenant) -> None:
    [document] = factories.listed(acme.workspace, 1)
    paths = ("/me", "/documents", f"/documents/{document.id}")
    before = [acme.get(path).headers["etag"] for path in paths]
    assert len(set(before)) == 3
    document.status = "CANCELLED"
    document.save()
    after = [acme.get(path, if_none_match=tag) for path, tag in zip(paths, before, strict=True)]
    assert [response.status for response in after] == [200, 200, 200]
    assert umbrella.get("/me", if_none_match=before[0]).status == 200


def test_conditions_of_json_that_fail_are_412(acme: Tenant, path: str) -> None:
    etag = acme.get(path).headers["etag"]
    assert acme.get(path, if_match=etag).status == 200
    assert acme.get(path, if_match="*").status == 200
    for other in ('"other"', f"W/{etag}"):  # the comparison is strong
        assert acme.get(path, if_match=other).status == 412
        assert acme.get(path, if_match=other, if_none_match=etag).status == 412


def test_conditions_about_dates_are_ignored_where_there_is_no_date(acme: Tenant) -> None:
    for name in ("if_modified_since", "if_unmodified_since"):
        sent = {name: "Thu, 01 Jan 1970 00:00:00 GMT"}
        assert acme.get("/me", **sent).same() == acme.get("/me").same()


def test_304_counts_and_needs_a_key_whose_workspace_may_use_the_api_and_has_the_document(
    acme: Tenant, frozen: Tenant, umbrella: Tenant
) -> None:
    assert counted(acme, 10).get("/me", if_none_match="*").headers["x-ratelimit-remaining"] == "289"
    assert get("/api/v1/me", if_none_match="*").status == 401
    assert frozen.get("/me", if_none_match="*").status == 403
    assert acme.get("/documents?limit=0", if_none_match="*").status == 400
    document = factories.document(umbrella.workspace)
    for path in ("/documents/x", f"/documents/{document.id}", path_of(document)):
        assert acme.get(path, if_none_match="*", range="bytes=0-").status == 404


def test_errors_are_not_stored(front: Server, acme: Tenant) -> None:
    responses = {
        400: front.get("/documents?limit=0", acme.raw),
        401: front.get("/me"),
        404: front.get("/nothing", acme.raw),
        405: front.get("/openapi.json", method="POST"),
    }
    for status, response in responses.items():
        assert response.status == status
        assert response.headers["cache-control"] == "no-store"
        assert response.headers["vary"] == "Authorization"
        assert "etag" not in response.headers


def test_304_over_a_socket_has_no_body_and_its_connection_goes_on(
    front: Server, acme: Tenant
) -> None:
    factories.listed(acme.workspace, 2)
    first = front.get("/documents?limit=1", acme.raw)
    same = front.get("/documents?limit=1", acme.raw, if_none_match=first.headers["etag"])
    assert (same.status, same.body) == (304, b"")
    for name in ("etag", "cache-control", "vary", "link"):
        assert same.headers[name] == first.headers[name]
    assert "content-length" not in same.headers  # which would be that of the 200
    with contextlib.closing(front.http()) as connection:
        for sent, status in [(first.headers["etag"], 304), ('"other"', 200)] * 2:
            headers = {"Authorization": acme.bearer, "If-None-Match": sent}
            connection.request("GET", "/api/v1/documents?limit=1", headers=headers)
            response = connection.getresponse()
            assert (response.status, len(response.read()) > 0) == (status, status == 200)


def test_compressed_json_has_a_tag_that_gets_a_304(gate: Nginx, acme: Tenant) -> None:
    factories.listed(acme.workspace, 100)
    target, key = "/api/v1/documents?limit=100", f"Authorization: {acme.bearer}"
    accepted = "Accept-Encoding: gzip"
    plain = exchange(gate.tls(), request(target, key))
    packed = exchange(gate.tls(), request(target, key, accepted))
    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["etag"] == f"W/{plain.headers['etag']}"
    assert len(packed.body) < len(plain.body) / 4
    for tag in (packed.headers["etag"], plain.headers["etag"]):
        same = exchange(gate.tls(), request(target, key, accepted, f"If-None-Match: {tag}"))
        assert (same.status, same.body, same.headers["etag"]) == (304, b"", tag)
        assert KEPT.items() <= same.headers.items()
        assert "content-encoding" not in same.headers
