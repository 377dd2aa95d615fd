"""The response of GET /me: the only definition of its fields.

The response is encoded from these structs, and the OpenAPI document's schemas are generated from
them (`config.api.schema.structs`).
"""

from typing import Annotated
from uuid import UUID

from msgspec import Meta, Struct

Count = Annotated[int, Meta(ge=0)]


class Workspace(Struct, gc=False):
    """The workspace that the key belongs to."""

    id: UUID
    name: str


class Key(Struct, gc=False):
    """The key that the request was made with."""

    id: UUID
    name: Annotated[str, Meta(description="The name given to the key when it was created.")]


class Counts(Struct, gc=False):
    """How many documents have exactly this status; deleted ones are left out."""

    draft: Count
    sent: Count
    completed: Count


class Summary(Struct, gc=False):
    """Which workspace and key a request uses, with document counts by status."""

    workspace: Workspace
    key: Key
    documents: Counts


class Me(Struct, gc=False):
    """The response of GET /me."""

    data: Summary
