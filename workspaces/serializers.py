"""The response of GET /me is encoded from these structs; the OpenAPI document describes them."""

from uuid import UUID

from msgspec import Struct


class Workspace(Struct, gc=False):
    id: UUID
    name: str


class Key(Struct, gc=False):
    id: UUID
    name: str


class Counts(Struct, gc=False):
    """How many documents have exactly this status; deleted ones are left out."""

    draft: int
    sent: int
    completed: int


class Summary(Struct, gc=False):
    workspace: Workspace
    key: Key
    documents: Counts


class Me(Struct, gc=False):
    data: Summary
