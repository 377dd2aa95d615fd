"""`dtd mcp`: a read-only server of the Model Context Protocol over standard input and output."""

from argparse import Namespace
from collections import deque
from collections.abc import Callable
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Annotated, Any, Literal

from dtd.client import Client
from dtd.errors import Error
from dtd.models import FeedType
from dtd.version import VERSION

Object = dict[str, Any]
ABOUT = "Reads the documents of one workspace of an e-signature service."


def mcp(client: Client, options: Namespace) -> None:
    """Serve the workspace, read-only, to a program of AI over standard input and output.

    example: dtd mcp --folder ~/agreements
    """
    from mcp.server import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
    from pydantic import Field

    folder = Path(options.folder).resolve()
    if not folder.is_dir():
        raise ValueError(f"{options.folder} is not a folder.")
    server = MCPServer("dtd", instructions=ABOUT, version=VERSION, log_level="WARNING")
    limits = Field(ge=1, le=100)

    def tool(function: Callable[..., Any], *, is_reading: bool = True) -> None:
        @wraps(function)
        def run(**words: Any) -> Any:
            # Some clients send null for what they leave out; some need a text beside [].
            given = {name: value for name, value in words.items() if value is not None}
            try:
                found = function(**given)
            except (Error, ValueError, OSError) as exc:
                raise ToolError(str(exc)) from exc  # the text of others is hidden from the client
            if found == []:
                text = TextContent(type="text", text="Nothing matches.")
                return CallToolResult(content=[text], structured_content={"result": []})
            return found

        hints = ToolAnnotations(read_only_hint=is_reading, destructive_hint=False)
        server.tool(annotations=hints)(run)

    @tool
    def who_am_i() -> Object:
        """The workspace and the key, with document counts."""
        return client.me().raw

    def search_documents(**parameters: Any) -> list[Object]:
        """Documents to which all parameters apply, newest first: `limit`, or 25, at most 100. Times
        are dates (days of UTC) or date-times with an offset; a recipient is an e-mail address;
        title has beginnings of words."""
        limit = min(parameters.pop("limit", 25), 100)
        return [each.raw for each in client.search(**parameters, limit=limit)]

    like_search = signature(client.search).replace(return_annotation=list[Object])
    search_documents.__signature__ = like_search  # type: ignore[attr-defined]
    tool(search_documents)

    @tool
    def get_document(id: str) -> Object:
        """One document with its recipients."""
        return client.document(id).raw

    @tool
    def recent_events(
        type: FeedType | None = None, limit: Annotated[int, limits] | None = 25
    ) -> list[Object]:
        """The last events of the past 30 days, oldest first. It reads all of them: name a type."""
        return [each.raw for each in deque(client.events(type=type), limit)]

    def download_document(
        id: str, type: Literal["signed", "original", "certificate"] | None = "signed"
    ) -> str:
        """Saves a PDF in the folder for downloads, and returns its path. The download is recorded
        in the audit log."""
        return str(client.download(id, type=type, to=folder, name=f"{id} {type}.pdf"))

    tool(download_document, is_reading=False)
    server.run()
