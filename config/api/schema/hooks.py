"""Postprocessing of the OpenAPI document: its introduction, and components for what repeats."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

Json = dict[str, Any]

INTRODUCTION = Path(__file__).with_name("introduction.md")
ANY_OTHER_PATH = "/api/v1{rest}"
OTHER_PATHS = "x-other-paths"  # our extension: the responses of every path that is not in `paths`


def finish(result: Json, **kwargs: Any) -> Json:
    """drf-spectacular's hook: returns the finished document."""
    result["info"]["description"] = INTRODUCTION.read_text()
    # OpenAPI has no path parameter that matches several segments.
    result[OTHER_PATHS] = result["paths"].pop(ANY_OTHER_PATH)["get"]["responses"]
    for item in result["paths"].values():
        item["get"].setdefault("security", [])  # an operation that needs no key says so
    operations = [result[OTHER_PATHS]]
    operations += [item["get"]["responses"] for item in result["paths"].values()]
    result["components"]["headers"] = share("headers", _headers(operations))
    result["components"]["responses"] = share("responses", _error_responses(operations))
    return result


def share(kind: str, found: Iterator[tuple[str, Json, str]]) -> Json:
    """Replaces equal parts of the document by references to one component.

    Args:
        kind: the kind of these components.
        found: the name that the component would have, the object that holds the part, and its key
            there. If parts with one name differ, the first that repeats becomes the component.
    """
    alike: dict[tuple[str, str], list[tuple[Json, str]]] = {}
    for name, holder, key in found:
        content = json.dumps(holder[key], sort_keys=True)
        alike.setdefault((name, content), []).append((holder, key))
    components: Json = {}
    for (name, _), places in alike.items():
        if len(places) > 1 and name not in components:
            for holder, key in places:
                components[name] = holder[key]
                holder[key] = {"$ref": f"#/components/{kind}/{name}"}
    return components


def _headers(operations: list[Json]) -> Iterator[tuple[str, Json, str]]:
    for responses in operations:
        for response in responses.values():
            for name in response.get("headers", {}):
                yield name, response["headers"], name


def _error_responses(operations: list[Json]) -> Iterator[tuple[str, Json, str]]:
    for responses in operations:
        for status in responses:
            if status >= "400":
                yield HTTPStatus(int(status)).phrase.replace(" ", ""), responses, status
