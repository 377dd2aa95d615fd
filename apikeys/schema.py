"""The OpenAPI security scheme of keys."""

from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.openapi import AutoSchema

from config.runtime.key_format import PREFIX


class KeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """`Authorization: Bearer dtd_…`."""

    target_class = "apikeys.authentication.BearerKeyAuthentication"
    name = "key"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:
        return {
            "type": "http",
            "scheme": "bearer",
            "bearerFormat": f"{PREFIX}…",
            "description": f"A workspace key: `Authorization: Bearer {PREFIX}…`. A workspace "
            "admin creates it in the workspace's developer settings; it is shown once.",
        }
