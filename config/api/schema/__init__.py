"""The OpenAPI document: drf-spectacular's settings. `views` serves it."""

from typing import Any

SETTINGS: dict[str, Any] = {
    "OAS_VERSION": "3.1.0",
    "TITLE": "Workspace Document Read API",
    "VERSION": "1.0.0",
    "SERVERS": [{"url": "/", "description": "The server that this document comes from"}],
    "TAGS": [
        {"name": "Workspace", "description": "Whose key this is."},
        {"name": "Documents", "description": "The workspace's documents and their PDFs."},
        {"name": "Events", "description": "What happened to the documents."},
        {"name": "Webhooks", "description": "What the service sends to your endpoint."},
        {"name": "Description", "description": "This OpenAPI document."},
    ],
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SORT_OPERATIONS": False,  # as in config.urls
    "SORT_OPERATION_PARAMETERS": False,  # as each schema.py has them
    "POSTPROCESSING_HOOKS": ["config.api.schema.hooks.finish"],
    "WEBHOOKS": ["events.webhooks.schema.document_event"],
}
