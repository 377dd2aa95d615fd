"""Descriptions in the OpenAPI document without which a client would have to guess."""

import re

import pytest

from tests.config.test_openapi_spec import DOCUMENT_STATUS, LIMITS, PATHS, RECIPIENT_STATUS
from tests.support.openapi import SCHEMA


@pytest.mark.parametrize(
    ("name", "values"), [("WorkspaceDocument", DOCUMENT_STATUS), ("Recipient", RECIPIENT_STATUS)]
)
def test_descriptions_of_status_cover_each_value(name: str, values: list[str]) -> None:
    text = SCHEMA["components"]["schemas"][name]["properties"]["status"]["description"]
    assert re.findall(r"^- `(\w+)`: \w.+\.$", text, re.MULTILINE) == values


def test_description_of_the_filter_names_the_status_that_it_does_not_accept() -> None:
    [status] = [
        each for each in PATHS["/api/v1/documents"]["get"]["parameters"] if each["name"] == "status"
    ]
    assert set(DOCUMENT_STATUS) - set(status["schema"]["enum"]) == {"PARTIALLY_SIGNED"}
    assert "`PARTIALLY_SIGNED` is a status but not a filter value" in status["description"]


def test_description_of_the_list_says_what_a_walk_may_miss() -> None:
    text = PATHS["/api/v1/documents"]["get"]["description"].replace("\n", " ")
    assert "No document is returned twice." in text
    assert "one whose status changes in the meantime may be missing" in text
    assert "unless it is deleted before its page is requested" in text


def test_descriptions_of_errors_with_one_status_are_joined_by_or() -> None:
    responses = PATHS["/api/v1/documents/{id}/download"]["get"]["responses"]
    assert responses["400"]["description"] == (
        "A query parameter is not valid. The text names it and says what it must be. "
        "Or the request as a whole is not valid."
    )
    assert " Or `signed` or `certificate` was requested" in responses["404"]["description"]


def test_descriptions_of_rate_limit_headers_say_when_they_are_absent() -> None:
    headers = SCHEMA["components"]["headers"]
    absent = {name for name, header in headers.items() if "Absent while" in header["description"]}
    assert absent == LIMITS
