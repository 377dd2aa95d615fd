"""What the reference shows of the OpenAPI document, and its texts as HTML."""

import json
import re
from collections.abc import Iterator
from typing import Any

from django.utils.html import format_html
from django.utils.safestring import SafeString

from config.api.openapi import DOCUMENT
from config.console.formatting import code_spans

Json = dict[str, Any]

WORDS = {"date-time": "time", "uuid": "UUID"}  # for formats; other values are named by their type


def resolved(schema: Json) -> Json:
    [schema] = schema.get("allOf", [schema])
    if "$ref" not in schema:
        return schema
    found: Any = DOCUMENT
    for step in schema["$ref"].removeprefix("#/").split("/"):
        found = found[step]
    return dict(found)


def kind(schema: Json) -> str:
    schema = resolved(schema)
    types: list[str] = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    words = WORDS.get(schema.get("format", ""), types[0])
    if words == "array":
        words = f"list of {kind(schema['items'])}s"
    if "minimum" in schema and "maximum" in schema:
        words += f", {schema['minimum']} to {schema['maximum']}"
    if "default" in schema:
        words += f", {schema['default']} by default"
    return f"{words} or null" if "null" in types else words


def fields(schema: Json) -> list[Json]:
    schema = resolved(schema)
    return [
        {
            "name": name,
            "kind": kind(field),
            "values": resolved(field).get("enum"),
            "description": field.get("description") or resolved(field).get("description", ""),
            "fields": fields(field),
        }
        for name, field in resolved(schema.get("items", schema)).get("properties", {}).items()
    ]


def parameters(operation: Json) -> Iterator[Json]:
    for parameter in operation["parameters"]:
        schema = parameter["schema"]
        values = schema.get("items", schema).get("enum")
        yield {**parameter, "kind": kind(schema), "values": values, "several": "items" in schema}


def example(path: str, status: int) -> str:
    """The example of a response for this path, as JSON; "" if the response is no JSON."""
    content = DOCUMENT["paths"][path]["get"]["responses"][str(status)]["content"]
    examples = content.get("application/json", {}).get("examples", {}).values()
    return next((json.dumps(each["value"], indent=2) for each in examples), "")


def operations() -> Iterator[Json]:
    for path, item in (*DOCUMENT["paths"].items(), *DOCUMENT["webhooks"].items()):
        [(method, operation)] = item.items()
        body = operation.get("requestBody") or operation["responses"]["200"]
        yield {
            "id": operation["operationId"],
            "summary": operation["summary"],
            "description": operation["description"],
            "method": method.upper(),
            "path": path,
            "parameters": list(parameters(operation)),
            "fields": fields(body["content"].get("application/json", {}).get("schema", {})),
            # Those that all operations have are on the page about errors.
            "responses": {
                status: response["description"]
                for status, response in operation["responses"].items()
                if "$ref" not in response
            },
        }


def prose(text: str) -> SafeString:
    """HTML of the little Markdown in texts: paragraphs, lists with `-`, code and links."""
    blocks = re.split(r"\n\s*\n|\n(?=- )", text.strip())
    html = "".join(_block(block) for block in blocks)
    return SafeString(re.sub(r"(?:<li>.*?</li>)+", r"<ul>\g<0></ul>", html, flags=re.DOTALL))


def _block(text: str) -> SafeString:
    html = code_spans(text.removeprefix("- "))
    html = SafeString(re.sub(r"\[([^]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', html))
    return format_html("<{0}>{1}</{0}>", "li" if text.startswith("- ") else "p", html)
