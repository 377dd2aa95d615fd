"""Downloads, measured: `python -m bench.downloads`.

Memory of the server with 1 and 32 downloads of 200 MB, time to the first byte and throughput as
ratios to curl straight at the store in the same run, and the latency of GET /me with and without
200 slow clients, in process and handed over to nginx. Takes a few minutes and 700 MB of disk;
brings up what it needs below DATA_DIR and asserts nothing.
"""

import asyncio

from bench.downloads.fixture import Fixture, provide
from bench.downloads.serving import server
from bench.downloads.transfer import memory, throughput
from bench.downloads.waiting import SLOW_CLIENTS, latency
from bench.progress import say


def main() -> None:
    provide()
    say("making documents of 50 and 200 MB …")
    fixture = Fixture((50, 200))
    memory(fixture)
    for handoff in (False, True):
        throughput(fixture, handoff=handoff)
    for handoff in (False, True):
        say(f"GET /me, {'handed over' if handoff else 'in process'}, 4 threads:")
        for slow in (0, SLOW_CLIENTS):
            with server(4, handoff=handoff) as (base, _):
                asyncio.run(latency(base, fixture.keys, slow, fixture.documents[200]))


if __name__ == "__main__":
    main()
