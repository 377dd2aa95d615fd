"""/api/docs: a guide with a page for each topic, and a reference made from the OpenAPI document.

The guide's pages are templates in `templates/docs/`. All that the reference says of an operation,
its parameters and fields is in `docs/openapi.json`.
"""
