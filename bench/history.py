"""The audit history in the admin: long and short ones, through the same server."""

import itertools
import re
from dataclasses import dataclass

import httpx

from bench.agreement import Disagreement
from bench.connection import Exchange
from bench.loading.identity import SUPPORT, Secret
from bench.loading.probes import filters
from bench.measuring import Measurement, measure
from bench.progress import say
from bench.scale import Scale
from bench.stack import Stack
from bench.variants import Server
from config.embedded.service import HOST

HISTORY = "/admin/audit/auditentry/"
CONNECTIONS = 2

History = dict[str, tuple[list[Measurement], list[Measurement]]]  # filter → few, many entries


@dataclass(frozen=True)
class Reader:
    """A signed-in support person.

    Attributes:
        server: of one database.
    """

    server: Server
    client: httpx.Client

    @classmethod
    def signed_in(cls, server: Server, secret: Secret) -> "Reader":
        client = httpx.Client(base_url=f"http://{HOST}:{server.port}", timeout=60)
        form = client.get("/admin/login/").text
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
        assert token  # noqa: S101 - Django's own form
        data = {"username": SUPPORT, "password": secret.derive("support"), "next": HISTORY}
        data["csrfmiddlewaretoken"] = token[1]
        answer = client.post("/admin/login/", data=data)
        if answer.status_code != 302:
            raise Disagreement(f"signing in: {answer.status_code}")
        return cls(server, client)

    def rows(self, query: str) -> int:
        """How many entries the first screen shows."""
        page = self.client.get(f"{HISTORY}?{query}")
        page.raise_for_status()
        return page.text.count('class="field-when')

    def exchange(self, query: str) -> Exchange:
        cookies = "; ".join(f"{name}={value}" for name, value in self.client.cookies.items())
        request = f"GET {HISTORY}?{query} HTTP/1.1\r\nHost: {HOST}\r\nCookie: {cookies}\r\n\r\n"
        return Exchange(request.encode(), None)


def read(stack: Stack, few: Server, many: Server, scale: Scale) -> History:
    """Each filter and search, on few and on many entries, measured in turn.

    Raises:
        Disagreement: a screen is not of the same length on both, or empty.
    """
    secret, queries = Secret.of(stack.folder), filters()
    found: History = {name: ([], []) for name in queries}
    readers = [Reader.signed_in(server, secret) for server in (few, many)]
    for name, query in queries.items():
        rows = [reader.rows(query) for reader in readers]
        if rows[0] != rows[1] or not rows[0]:
            raise Disagreement(f"history, {name}: {rows} entries on the first screen")
    for number in range(1, scale.rounds + 1):
        say(f"audit history, round {number} of {scale.rounds}")
        for name, query in queries.items():
            for reader, measurements in zip(readers, found[name], strict=True):
                measured = measure(
                    stack,
                    reader.server,
                    itertools.repeat(reader.exchange(query)),
                    warm_up=scale.warm_up / 5,
                    seconds=scale.seconds / 4,
                    connections=CONNECTIONS,
                )
                measurements.append(measured)
    return found
