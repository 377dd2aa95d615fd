"""What the OpenAPI document says in words, where a consumer would otherwise have to guess."""

import re

import pytest

from tests.described import DOCUMENT
from tests.test_openapi_spec import DOCUMENT_STATUS, LIMITS, PATHS, RECIPIENT_STATUS


@pytest.mark.parametrize(
    ("name", "values"), [("Document", DOCUMENT_STATUS), ("Recipient", RECIPIENT_STATUS)]
)
def test_openapi_text_has_a_meaning_for_each_value_of_a_status(
    name: str, values: list[str]
) -> None:
    text = DOCUMENT["components"]["schemas"][name]["properties"]["status"]["description"]
    assert re.findall(r"^- `(\w+)`: \w.+\.$", text, re.MULTILINE) == values


def test_openapi_text_says_which_status_the_filter_refuses() -> None:
    [status] = [
        each for each in PATHS["/api/v1/documents"]["get"]["parameters"] if each["name"] == "status"
    ]
    assert set(DOCUMENT_STATUS) - set(status["schema"]["enum"]) == {"PARTIALLY_SIGNED"}
    assert "`PARTIALLY_SIGNED` is a status but not a filter value" in status["description"]


def test_openapi_text_joins_causes_that_share_a_status_by_or() -> None:
    responses = PATHS["/api/v1/documents/{id}/download"]["get"]["responses"]
    assert responses["400"]["description"] == (
        "A query parameter is not valid: the text names it and says what it takes. "
        "Or the request as a whole is not valid."
    )
    assert " Or `signed` or `certificate` was asked for" in responses["404"]["description"]


def test_openapi_text_of_the_limit_s_headers_says_when_they_are_absent() -> None:
    headers = DOCUMENT["components"]["headers"]
    absent = {name for name, header in headers.items() if "Absent while" in header["description"]}
    assert absent == LIMITS
