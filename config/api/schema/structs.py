"""OpenAPI components from the msgspec structs that encode the bodies."""

import re
from typing import Any

from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent
from msgspec.json import schema_components

Json = dict[str, Any]


class StructExtension(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]
    """Lets drf-spectacular accept a struct as a serializer.

    The component has the name and docstring of the struct. A field with an enum has the name of
    the enum's component as its title.
    """

    target_class = "msgspec.Struct"
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Any) -> str:
        return str(self.target.__name__)

    get_identity = get_name  # `register` knows a nested struct by its name only

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> Json:
        """The struct's schema; those of the structs and enums in it are registered."""

        def register(name: str, schema: Json) -> Json:
            kind = ResolvedComponent.SCHEMA
            component = ResolvedComponent(name, kind, schema, object=name)  # type: ignore[no-untyped-call]
            auto_schema.registry.register_on_missing(component)
            return component.ref

        def field(schema: Json) -> Json:
            if "anyOf" in schema:  # a type or null
                [value, _] = schema.pop("anyOf")
                schema |= value | {"type": [value["type"], "null"]}
            if "enum" in schema:
                name = schema.pop("title")
                values = {"enum": schema.pop("enum"), "type": schema.pop("type")}
                reference = register(name, values | names_in_clients(name, values["enum"]))
                return {"allOf": [reference], **schema} if schema else reference
            return schema

        _, components = schema_components([self.target], ref_template="#/components/schemas/{name}")
        for schema in components.values():
            properties = schema["properties"]
            schema["properties"] = {name: field(properties[name]) for name in properties}
            schema["required"].sort()
            register(schema.pop("title"), schema)
        own: Json = components[self.target.__name__]
        return own


def names_in_clients(enum: str, values: list[str]) -> Json:
    """Names of an enum's constants for generated clients, such as `DOCUMENT_STATUS_SENT`.

    In some languages, such as Go, the constants of all enums have one namespace.
    """
    prefix = re.sub("(?<=[a-z])(?=[A-Z])", "_", enum).upper()
    return {"x-enum-varnames": [f"{prefix}_{value.upper()}" for value in values]}
