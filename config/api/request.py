"""A request to the API, with the key that it was made with."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from config.database import Row


class ActiveKey(NamedTuple):
    """An active key with its workspace, as authentication found it: `request.auth`."""

    id: UUID
    name: str
    prefix: str
    last_used_at: datetime | None
    workspace_id: UUID
    workspace_name: str
    plan: str
    suspended: bool


class ApiRequest(Request):
    """DRF's request.

    Attributes:
        auth: the key; set once the request is authenticated.
        read_with_key: SQL of one row that the statement which finds the key also reads, in which
            `workspace` is the key's; "" for none.
        row: that row, set with `auth`.
        response_headers: headers that the checks add to whatever response follows, errors
            included.
    """

    auth: ActiveKey
    row: Row

    def __init__(
        self,
        request: HttpRequest,
        authenticators: list[BaseAuthentication] | None = None,
        read_with_key: str = "",
    ) -> None:
        super().__init__(request, authenticators=authenticators)
        self.read_with_key = read_with_key
        self.response_headers: dict[str, str] = {}
