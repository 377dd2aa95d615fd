"""The audit log in the admin: a long and a short one, through the same server."""

import itertools

import httpx

from bench import log
from bench.agreement import Disagreement
from bench.client import Exchange
from bench.loading.entries import filters
from bench.loading.identity import SUPPORT, derive
from bench.measuring import Measurement, measure
from bench.scale import Scale
from bench.stack import Stack
from bench.traffic import wire
from bench.variants import Server

LIST = "/admin/audit/auditentry/"
CONNECTIONS = 2

AuditLog = dict[str, tuple[list[Measurement], list[Measurement]]]  # filter → few, many entries


def _sign_in(client: httpx.Client) -> None:
    client.get("/admin/login/")
    data = {"username": SUPPORT, "password": derive("support"), "next": LIST}
    data["csrfmiddlewaretoken"] = client.cookies["csrftoken"]
    response = client.post("/admin/login/", data=data)
    if response.status_code != 302:
        raise Disagreement(f"signing in: {response.status_code}")


def read(stack: Stack, few: Server, many: Server, scale: Scale) -> AuditLog:
    """Each filter and search, on few and on many entries, measured in turn.

    Raises:
        Disagreement: a screen is not of the same length on both, or empty.
    """
    servers, queries = (few, many), filters()
    found: AuditLog = {name: ([], []) for name in queries}
    for server in servers:
        _sign_in(server.client)
    for name, query in queries.items():
        pages = [server.client.get(f"{LIST}?{query}").raise_for_status() for server in servers]
        rows = [page.text.count('class="field-when') for page in pages]
        if rows[0] != rows[1] or not rows[0]:
            raise Disagreement(f"audit log, {name}: {rows} entries on the first screen")
    for number in range(1, scale.rounds + 1):
        log(f"audit log, round {number} of {scale.rounds}")
        for name, query in queries.items():
            for server, measurements in zip(servers, found[name], strict=True):
                cookies = "; ".join(f"{n}={value}" for n, value in server.client.cookies.items())
                request = Exchange(wire(f"{LIST}?{query}", f"Cookie: {cookies}"), None)
                measurements.append(
                    measure(
                        stack,
                        server,
                        itertools.repeat(request),
                        scale,
                        part=0.25,
                        connections=CONNECTIONS,
                    )
                )
    return found
