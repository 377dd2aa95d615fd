"""Under fire: a server that is killed in the midst of downloads has lost no entry."""

import asyncio
import re

import pytest

from audit.models import AuditEntry
from tests.support import factories
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import Server, running

DOWNLOADS = 500
AT_ONCE = 32  # so many more than `enough` may have a byte when the server is dead
REQUEST_ID = re.compile(rb"\r\nrequest-id: ([0-9a-f]{32})\r\n", re.IGNORECASE)


async def start_downloads(server: Server, requests: list[bytes], enough: int) -> list[bytes]:
    """Starts downloads, kills the server once `enough` of them have had a byte.

    Returns:
        What each of them got; some nothing.
    """
    got = [b""] * len(requests)
    turn = asyncio.Semaphore(AT_ONCE)
    killed = asyncio.Event()

    async def download(number: int, request: bytes) -> None:
        async with turn:
            if killed.is_set():
                return
            try:
                reader, writer = await asyncio.open_connection(HOST, server.port)
                writer.write(request)
                while block := await reader.read(2000):
                    got[number] += block
                    if sum(map(bool, got)) >= enough and not killed.is_set():
                        killed.set()
                        server.kill()
            except OSError:
                return
            writer.close()

    await asyncio.gather(*(download(*each) for each in enumerate(requests)))
    return got


@pytest.mark.parametrize("enough", [3, 280])
def test_download_has_its_entry_if_a_byte_was_seen_before_the_server_was_killed(
    transactional_db: None, acme: Tenant, tmp_path_factory: pytest.TempPathFactory, enough: int
) -> None:
    document = factories.document(acme.workspace, content=bytes(200_000))
    # Two keys, for one may make 300 requests a minute.
    keys = [acme.raw, factories.issue(acme.workspace, "Second", acme.admin)[1]]
    requests = [
        f"GET /api/v1/documents/{document.id}/download HTTP/1.1\r\nHost: {HOST}\r\n"
        f"Connection: close\r\nAuthorization: Bearer {keys[number % 2]}\r\n\r\n".encode()
        for number in range(DOWNLOADS)
    ]
    with running(Server(tmp_path_factory.mktemp("killed"))) as server:
        got = asyncio.run(start_downloads(server, requests, enough))

    seen = [response for response in got if response]
    assert enough <= len(seen) < DOWNLOADS
    started = [each for each in seen if each.startswith(b"HTTP/1.1 200 OK\r\n")]
    # On a busy machine, some of so many at once are refused.
    assert all(each.startswith(b"HTTP/1.1 503 ") for each in seen if each not in started)
    ids = set()
    for response in started:
        found = REQUEST_ID.search(response)
        assert found, response
        ids.add(found[1].decode())
    assert len(ids) == len(started) > 0
    recorded = AuditEntry.objects.filter(action="document.downloaded")
    assert ids <= set(recorded.values_list("request_id", flat=True))
