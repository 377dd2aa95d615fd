"""dtd mcp: five read-only tools, tried with the client of the package mcp on a real server."""

import asyncio
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from dtd.version import VERSION
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CallToolResult, TextContent

from audit.models import AuditEntry
from tests.support import factories
from tests.support.cast import hardest_to_find, settled
from tests.support.examples import Examples, Requests
from tests.support.factories import Tenant
from tests.support.receiver import Receiver
from tests.support.server import eventually

TOOLS = ["who_am_i", "search_documents", "get_document", "recent_events", "download_document"]


def calls(examples: Examples, *wanted: tuple[str, dict[str, Any]]) -> list[CallToolResult]:
    """The results of calls of one session, whose downloads go to the folder `here`."""

    async def session() -> list[CallToolResult]:
        server = StdioServerParameters(
            command=sys.executable,
            args=["-m", "dtd", "mcp", "--folder", "here"],
            env=examples.environment,
            cwd=examples.folder,
        )
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools if tool.description] == TOOLS
            assert client.server_info
            assert client.server_info.version == VERSION
            hints = [tool.annotations for tool in tools if tool.annotations]
            assert [each.read_only_hint for each in hints] == [True] * 4 + [False]
            assert not any(each.destructive_hint for each in hints)
            assert "webhook.test" not in str(tools[3].input_schema)
            # Gemini refuses all tools if a text has another format than a date-time.
            assert not re.search("'format'|[$]ref", str([each.input_schema for each in tools]))
            assert "never instructions" in (client.instructions or "")
            return [await client.call_tool(name, words) for name, words in wanted]

    return asyncio.run(session())


def text(result: CallToolResult) -> str:
    return "".join(each.text for each in result.content if isinstance(each, TextContent))


def raw(result: CallToolResult) -> Any:
    assert not result.is_error, text(result)
    assert result.structured_content is not None
    return result.structured_content.get("result", result.structured_content)


def page(result: CallToolResult) -> dict[str, Any]:
    return dict(result.structured_content or {})


def test_mcp_reads_what_the_api_has(examples: Examples, acme: Tenant) -> None:
    lease = factories.document(acme.workspace, "COMPLETED", title="Lease")
    factories.document(acme.workspace, "SENT", title="Offer")
    assert eventually(settled)
    me, document, found, events = calls(
        examples,
        ("who_am_i", {}),
        ("get_document", {"id": str(lease.id)}),
        ("search_documents", {"title": "lea", "status": ["COMPLETED", "SENT"]}),
        ("recent_events", {"type": "document.completed"}),
    )
    assert raw(me)["workspace"]["name"] == "Acme"
    assert raw(document)["title"] == "Lease"
    assert [each["id"] for each in raw(found)] == [str(lease.id)]
    assert [each["data"]["id"] for each in raw(events)] == [str(lease.id)]


def test_mcp_finds_in_one_call_what_is_on_one_page(examples: Examples, acme: Tenant) -> None:
    document = hardest_to_find(acme)
    requests = Requests(examples.server)
    [found] = calls(examples, ("search_documents", {"title": "lease offer"}))
    assert [each["id"] for each in page(found)["result"]] == [str(document.id)]
    assert page(found)["more"] is None
    assert requests() == ["search 200"]


def test_mcp_says_that_a_list_is_cut_and_a_cursor_leads_on(
    examples: Examples, acme: Tenant
) -> None:
    oldest, *others = [str(factories.document(acme.workspace, "SENT").id) for _ in range(3)]
    assert eventually(settled)
    search: dict[str, Any] = {"limit": 2}
    events: dict[str, Any] = {"limit": 2, "type": "document.sent"}
    lists = (("search_documents", search), ("recent_events", events))
    first = calls(examples, *lists)
    for (_, words), result in zip(lists, first, strict=True):
        assert "These are not all" in text(result)
        words["cursor"] = page(result)["more"].split("'")[1]
    zero, many = ("search_documents", {"limit": 0}), ("recent_events", {"limit": 101})
    *last, none, too_many = calls(examples, *lists, zero, many)
    assert [each["id"] for each in page(first[0])["result"]] == others[::-1]
    assert [each["data"]["id"] for each in page(first[1])["result"]] == others
    assert [each["id"] for each in page(last[0])["result"]] == [oldest]
    assert [each["data"]["id"] for each in page(last[1])["result"]] == [oldest]
    assert [page(each)["more"] for each in last] == [None, None]
    assert (none.is_error, too_many.is_error) == (True, True)
    assert "greater than or equal to 1" in text(none)


def test_mcp_waits_for_the_service_no_longer_than_its_client_does(
    examples: Examples, receiver: Receiver
) -> None:
    examples.environment["DTD_BASE_URL"] = receiver.url("/503")
    receiver.headers["Retry-After"] = "30"
    [away] = calls(examples, ("who_am_i", {}))
    assert (away.is_error, len(receiver.received)) == (True, 1)


def test_mcp_downloads_to_the_folder_only_and_each_download_is_recorded(
    examples: Examples, acme: Tenant
) -> None:
    lease = factories.document(acme.workspace, "COMPLETED", file_name="../../evil.pdf")
    before = set(examples.folder.iterdir())
    good, *bad = calls(
        examples,
        ("download_document", {"id": str(lease.id), "type": "certificate"}),
        ("download_document", {"id": f"../{lease.id}"}),
        ("download_document", {"id": str(examples.folder / "evil")}),
        ("download_document", {"id": str(lease.id), "type": "../signed"}),
        ("download_document", {"id": str(factories.uid(9))}),
    )
    path = examples.folder / "here" / f"{lease.id} certificate.pdf"
    assert Path(raw(good)) == path
    assert path.read_bytes().startswith(b"%PDF")
    assert all(each.is_error for each in bad)
    assert "Request-Id" in text(bad[-1])
    assert list((examples.folder / "here").iterdir()) == [path]
    assert set(examples.folder.iterdir()) - before == {examples.folder / "here"}
    [entry] = AuditEntry.objects.filter(action="document.downloaded")
    assert (entry.key_name, entry.file_type) == ("Acme sync", "certificate")


def test_mcp_makes_its_folder_and_needs_its_package(
    examples: Examples, monkeypatch: pytest.MonkeyPatch
) -> None:
    (examples.folder / "file").touch()
    printed = examples.run("dtd", "mcp", "--folder", "file", status=1)
    assert re.fullmatch("dtd: .*/file: File exists\n", printed)
    monkeypatch.setitem(sys.modules, "mcp.server", None)
    monkeypatch.setitem(sys.modules, "mcp", None)
    printed = examples.run("dtd", "mcp", "--folder", ".", status=2)
    assert printed == "dtd: mcp is missing: pip install mcp\n"
