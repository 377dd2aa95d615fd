"""The key of a request, as authentication found it: DRF's `request.auth`."""

from typing import NamedTuple
from uuid import UUID


class ActiveKey(NamedTuple):
    id: UUID
    name: str
    prefix: str
    workspace_id: UUID
    workspace_name: str
    plan: str
    suspended: bool
