"""The last step of making the description: its introduction, and what repeats is said once."""

import json
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

Json = dict[str, Any]
Place = tuple[Json, str]  # an object, and a key in it

TEXT = Path(__file__).with_name("introduction.md")  # the introduction
ANY_OTHER_PATH = "/api/v1/{rest}"
OTHER_PATHS = "x-other-paths"  # our extension: the answers of every path that is not in `paths`


def finish(result: Json, **kwargs: Any) -> Json:
    """drf-spectacular's hook: the finished description."""
    result["info"]["description"] = TEXT.read_text()
    # OpenAPI has no path that stands for several segments.
    result[OTHER_PATHS] = result["paths"].pop(ANY_OTHER_PATH)["get"]["responses"]
    answers = [result[OTHER_PATHS]] + [
        item["get"]["responses"] for item in result["paths"].values()
    ]
    components = result["components"]
    components["headers"] = share(_headers(answers), "headers")
    components["responses"] = share(_refusals(answers), "responses")
    return result


def share(found: Iterator[tuple[str, Place]], kind: str) -> Json:
    """Replaces what stands in several places alike by references to one component.

    Args:
        found: the name that the component would have, and the place; of several contents with
            one name the first that repeats becomes the component.
        kind: where components of this kind are.
    """
    alike: dict[tuple[str, str], list[Place]] = {}
    for name, (holder, key) in found:
        content = json.dumps(holder[key], sort_keys=True)
        alike.setdefault((name, content), []).append((holder, key))
    components: Json = {}
    for (name, _), places in alike.items():
        if len(places) > 1 and name not in components:
            for holder, key in places:
                components[name] = holder[key]
                holder[key] = {"$ref": f"#/components/{kind}/{name}"}
    return components


def _headers(answers: list[Json]) -> Iterator[tuple[str, Place]]:
    for responses in answers:
        for response in responses.values():
            for name in response.get("headers", {}):
                yield name, (response["headers"], name)


def _refusals(answers: list[Json]) -> Iterator[tuple[str, Place]]:
    for responses in answers:
        for status in responses:
            if status >= "400":
                name = HTTPStatus(int(status)).phrase.replace(" ", "")
                yield name, (responses, status)
