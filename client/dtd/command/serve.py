"""`dtd mcp`: a read-only server of the Model Context Protocol over standard input and output."""

from argparse import Namespace
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Annotated, Any, Literal

from dtd.client import Client
from dtd.errors import Error
from dtd.models import DocumentStatus, EventType, RecipientStatus

Object = dict[str, Any]
ABOUT = "Reads the documents of one workspace of an e-signature service."
OWN = ("client", "limit")  # names in `search_documents` that are no parameters of the search


def mcp(client: Client, options: Namespace) -> None:
    """Serve the workspace, read-only, to a program of AI over standard input and output.

    example: dtd mcp --folder ~/agreements
    """
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from pydantic import Field

    limits = Field(ge=1, le=100)
    folder = Path(options.folder).resolve()
    if not folder.is_dir():
        raise ValueError(f"{options.folder} is not a folder.")
    server = MCPServer("dtd", instructions=ABOUT, log_level="WARNING")

    @contextmanager
    def shown_errors() -> Iterator[None]:
        """The server hides the text of other errors from its client."""
        try:
            yield
        except (Error, ValueError, OSError) as exc:
            raise ToolError(str(exc)) from exc

    def tool(function: Callable[..., Any]) -> None:
        server.tool()(shown_errors()(function))

    @tool
    def who_am_i() -> Object:
        """The workspace and the key, with document counts."""
        return client.me().raw

    @tool
    def search_documents(
        status: list[DocumentStatus] | None = None,
        created_from: str | None = None,
        created_before: str | None = None,
        sent_from: str | None = None,
        sent_before: str | None = None,
        completed_from: str | None = None,
        completed_before: str | None = None,
        expires_from: str | None = None,
        expires_before: str | None = None,
        recipient: str | None = None,
        recipient_status: RecipientStatus | None = None,
        title: str | None = None,
        sort: Literal["created", "completed", "expires"] = "created",
        limit: Annotated[int, limits] = 25,
    ) -> list[Object]:
        """Documents to which all parameters apply, newest first. Times are dates (days of UTC) or
        date-times with an offset; a recipient is an e-mail address; title has beginnings of words.
        """
        parameters = {name: value for name, value in locals().items() if name not in OWN}
        return [each.raw for each in islice(client.search(**parameters), limit)]

    @tool
    def get_document(id: str) -> Object:
        """One document with its recipients."""
        return client.document(id).raw

    @tool
    def recent_events(
        type: EventType | None = None, limit: Annotated[int, limits] = 25
    ) -> list[Object]:
        """The last events of the past 30 days, oldest first. It reads all of them: name a type."""
        return [each.raw for each in deque(client.events(type=type), limit)]

    @tool
    def download_document(
        id: str, type: Literal["signed", "original", "certificate"] = "signed"
    ) -> str:
        """Saves a PDF in the folder for downloads, and returns its path. The download is recorded
        in the audit log."""
        return str(client.download(id, type=type, to=folder / f"{id} {type}.pdf"))

    server.run()
