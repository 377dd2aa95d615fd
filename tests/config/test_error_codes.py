"""`Error-Code`: one stable word for each error, for programs."""

from collections.abc import Iterator

from config.api.errors import ApiError
from tests.support import factories
from tests.support.cast import used_up
from tests.support.client import Response, get
from tests.support.docs import documented_codes
from tests.support.factories import Tenant
from tests.support.openapi import SCHEMA

# Of nginx, for requests that do not reach the application.
BUSY = {"busy": 503, "too_many_downloads": 503}
OF_NGINX = {
    **BUSY,
    "request_timeout": 408,
    "body_too_large": 413,
    "url_too_long": 414,
    "headers_too_large": 431,
}


def kinds(base: type[ApiError] = ApiError) -> Iterator[type[ApiError]]:
    for kind in base.__subclasses__():
        yield kind
        yield from kinds(kind)


CODES = {kind.default_code: kind.status_code for kind in kinds()}


def test_codes_are_one_for_each_error_and_all_documented() -> None:
    """Clients compare these words, so none may ever change."""
    assert len(list(kinds())) == len(CODES)
    header = SCHEMA["components"]["headers"]["Error-Code"]
    assert set(header["schema"]["enum"]) == {*CODES, *BUSY}
    assert documented_codes() == CODES | OF_NGINX


def test_code_tells_the_errors_of_one_status_apart(
    acme: Tenant, frozen: Tenant, freebie: Tenant
) -> None:
    document = factories.document(acme.workspace)
    file = f"/documents/{document.id}/download"
    responses: list[tuple[Response, str]] = [
        (acme.get("/documents?limit=0"), "invalid_parameter"),
        (acme.get("/me", host="evil.example"), "invalid_request"),
        (get("/api/v1/me"), "invalid_key"),
        (freebie.get("/me"), "plan_limit"),
        (frozen.get("/me"), "workspace_suspended"),
        (acme.get("/documents/x"), "document_not_found"),
        (acme.get("/documents/x/y"), "path_not_found"),
        (acme.get(f"{file}?type=signed"), "document_not_complete"),
        (acme.get("/me", method="POST"), "method_not_allowed"),
        (acme.get(file, if_match='"x"'), "precondition_failed"),
        (acme.get(file, range="bytes=99999999-"), "range_not_satisfiable"),
        (used_up(acme).get("/me"), "too_many_requests"),
    ]
    for response, code in responses:
        assert (response.headers["error-code"], response.status) == (code, CODES[code])
    assert "error-code" not in acme.get("/me", if_none_match="*").headers
    assert freebie.get("/me").json()["details"]["code"] == "plan_limit"
