"""A request to the API, with the key that it was made with."""

from typing import NamedTuple
from uuid import UUID

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from config.api.reading import Reader
from config.runtime.database import Row


class ActiveKey(NamedTuple):
    """An active key with its workspace, as authentication found it: `request.auth`."""

    id: UUID
    name: str
    prefix: str
    workspace_id: UUID
    workspace_name: str
    plan: str
    suspended: bool


class ApiRequest(Request):
    """DRF's request.

    Attributes:
        auth: the key; set once the request is authenticated.
        reader: reads what the view needs.
        response_headers: headers that the checks add to whatever response follows, errors
            included.
    """

    auth: ActiveKey

    def __init__(
        self, request: HttpRequest, authenticators: list[BaseAuthentication], reader: Reader
    ) -> None:
        super().__init__(request, authenticators=authenticators)
        self.reader = reader
        self.response_headers: dict[str, str] = {}

    def rows(self) -> list[Row]:
        """The rows of the view's `reading`.

        Raises:
            django.db.Error: the database has failed.
        """
        return self.reader.rows(self.auth.workspace_id)
