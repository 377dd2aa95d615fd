"""Breaks one part after the other under load, and writes docs/reliability.md: `make faults`.

A part of it, whose page stays out of docs/: python -m bench.faults --only redis-killed overload
"""

import argparse
import contextlib
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from statistics import median

import psutil

from bench import log
from bench.client import Client, Outcome, Request, counts
from bench.faults.catalogue import FAULTS, Fault
from bench.faults.node import ENDPOINTS, WATCHDOG, Node, learn, send, serving, steady
from bench.loading import FAULTS as SCALE
from bench.loading import ROOT
from bench.report import SEVERAL, table, write
from bench.servers import CORES, pin
from bench.stack import Stack
from bench.traffic import DOWNLOAD

SHORT = (
    "redis-killed",
    "store-killed",
    "postgres-killed",
    "locked-documents",
    "worker-killed",
    "slow-bodies",
    "half-headers",
)
RATE = 16.0  # requests a second of the steady load
LIMIT = 60.0  # seconds after the end of a fault, healthy or not
HEALTHY = 5.0  # seconds after the end of a fault until everything is right and quick again
QUICK, DOWNLOADED = 1.0, 6.0  # seconds of a response, and of a download
SECONDS = 12.0  # of each measurement of an overload
CONNECTIONS = (4, 8, 16)  # with which the best rate is looked for
TIMES, GOODPUT = 10, 0.75  # the best rate, and what of it is served meanwhile
CROWD = 200  # connections with one key
CROWDED = {0.0: 3.5, 0.1: 3.0}  # by their pause after a refusal: the neighbour's median, times
RECORDED = "SELECT request_id FROM audit_auditentry \
WHERE action = 'document.downloaded' AND request_id = ANY(%s)"

# The cells of a row, and what of the promise is broken.
Row = tuple[list[str], list[str]]


def ms(outcomes: Sequence[Outcome]) -> str:
    times = [1000 * o.seconds for o in outcomes] or [0]
    return f"{counts(outcomes)}; {median(times):,.0f}/{max(times):,.0f} ms"


def ratio(before: Sequence[Outcome], during: Sequence[Outcome]) -> float:
    return median(o.seconds for o in during) / median(o.seconds for o in before)


def good(one: Outcome) -> bool:
    return one.right and one.seconds <= (DOWNLOADED if one.endpoint == DOWNLOAD else QUICK)


def inflict(fault: Fault, node: Node, requests: Sequence[Request], *, short: bool) -> Row:
    node.facts.clear()
    node.broken.clear()
    with steady(Client(node.port), requests, RATE) as outcomes:
        time.sleep(1 if short else 5)
        began = time.monotonic()
        with fault.during(node):
            time.sleep(3 if short else 12)
        ended = time.monotonic()
        last = settled = ended
        while settled - last < 3 and settled < ended + LIMIT:
            time.sleep(0.1)
            last = max([ended, *(o.due + o.seconds for o in outcomes if not good(o))])
            settled = time.monotonic()
    before = [o for o in outcomes if o.due < began]
    during = [o for o in outcomes if began <= o.due < ended]
    healthy = max([o.due - ended for o in outcomes if o.due >= ended and not good(o)], default=0.0)
    cells, broken = [], list(node.broken)
    for endpoint, promise in fault.promise.items():
        own = [o for o in during if o.endpoint == endpoint]
        cells.append(ms(own))
        broken += [f"{endpoint}: {what}" for what in promise.broken(own)]
    promised = [f"{endpoint}: {promise}" for endpoint, promise in fault.promise.items()]
    facts = [*node.facts, f"median {(times := ratio(before, during)):.1f} × undisturbed"]
    if fault.ratio:
        promised.append(f"median ≤ {fault.ratio:g} × undisturbed")
        broken += facts[-1:] if times > fault.ratio else []
    if healthy > HEALTHY:
        broken.append(f"healthy after {healthy:.1f} s")
    downloads = {o.request_id for o in outcomes if o.endpoint == DOWNLOAD and o.right}
    with node.stack.connect() as connection:
        recorded = connection.execute(RECORDED, [list(downloads)]).fetchall()
    if lost := len(downloads) - len({name for (name,) in recorded}):
        broken.append(f"{lost} of {len(downloads)} downloads are not in the audit log")
    facts.append(f"{len(downloads)} downloads recorded")
    return [
        f"{fault.title} ({fault.name})",
        *cells,
        f"{healthy:.1f} s",
        "; ".join(facts),
        "; ".join(promised),
    ], broken


@contextlib.contextmanager
def apart() -> Iterator[None]:
    """The client has one core and the node the others: otherwise it would take the node's time."""
    own = psutil.Process()
    node = dict.fromkeys(own.children(recursive=True), CORES[:-1] or CORES)
    for process, cores in {**node, own: CORES[-1:]}.items():
        pin(process, cores)
    yield
    for process in (own, *node):
        pin(process, CORES)


def overload(node: Node, requests: Sequence[Request]) -> Row:
    best = 0.0
    with apart():
        for connections in CONNECTIONS:
            node.stack.prepare()
            found, took = send(node.port, requests, SECONDS / 3, 0, connections)
            best = max(best, sum(o.right for o in found) / took)
        node.stack.prepare()
        found, took = send(node.port, requests, SECONDS, TIMES * best)
    goodput = sum(o.right for o in found) / took
    broken = [f"goodput {goodput / best:.0%}"] if goodput < GOODPUT * best else []
    if rude := [o for o in found if not o.right and not (o.status == 503 and o.polite)]:
        broken.append(f"not a 503 in JSON with Retry-After: {counts(rude)}")
    facts = f"best {best:,.0f}/s; offered {len(found) / took:,.0f}/s, served {goodput:,.0f}/s"
    promised = f"goodput ≥ {GOODPUT:.0%} of the best; all others are 503 in JSON with Retry-After"
    return [f"{TIMES} times the best rate", f"{facts}; {ms(found)}", promised], broken


def crowded(node: Node, loads: dict[str, list[Request]], pause: float) -> Row:
    node.stack.prepare()
    before, _ = send(node.port, loads["neighbour"], SECONDS, 2 * RATE)
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        crowd = pool.submit(send, node.port, loads["one key"], SECONDS + 4, 0, CROWD, pause)
        time.sleep(3)  # until it is started
        during, _ = send(node.port, loads["neighbour"], SECONDS, 2 * RATE)
        sent, _ = crowd.result()
    times, bad = ratio(before, during), counts([o for o in during if not o.right])
    broken = [f"the neighbour saw {bad}"] if bad else []
    broken += [f"median {times:.1f} × undisturbed"] if times > CROWDED[pause] else []
    facts = f"the neighbour: {ms(during)}, median {times:.1f} × undisturbed; the key: {ms(sent)}"
    title = f"one key, {CROWD} connections, {pause:g} s of pause after a refusal"
    return [title, facts, f"the neighbour's median ≤ {CROWDED[pause]:g} × undisturbed"], broken


def tabled(head: Sequence[str], rows: Sequence[Row]) -> list[str]:
    cells = [[*row, f"**no**: {'; '.join(broken)}" if broken else "yes"] for row, broken in rows]
    return table((*head, "holds"), cells, len(head) + 1)


def run(stack: Stack, chosen: Sequence[str], *, short: bool) -> tuple[list[str], list[Row]]:
    faults, loads = list[Row](), list[Row]()
    with serving(stack) as node:
        requests = learn(node.port)
        for fault in FAULTS:
            if not chosen or fault.name in chosen:
                log(f"{fault.title} ({fault.name}) …")
                faults.append(inflict(fault, node, requests["mixed"], short=short))
                log(f"  {'; '.join(faults[-1][1]) or 'holds'}")
        if not chosen or "overload" in chosen:
            log("overload …")
            loads.append(overload(node, requests["reads"]))
            loads += [crowded(node, requests, pause) for pause in CROWDED]
    tables = tabled(("fault", *ENDPOINTS, "healthy after", "found", "promise"), faults)
    tables += tabled(("load", "found", "promise"), loads) if loads else []
    return tables, faults + loads


def main() -> None:
    parser = argparse.ArgumentParser(description="Breaks one part after the other under load.")
    parser.add_argument("--short", action="store_true", help="a smoke test of a minute")
    parser.add_argument("--only", nargs="+", choices=[*(f.name for f in FAULTS), "overload"])
    options = parser.parse_args()
    chosen = options.only or (SHORT if options.short else ())
    stack = Stack("faults")
    stack.load(SCALE)
    tables, rows = run(stack, chosen, short=options.short)
    failed = [f"{cells[0]}: {'; '.join(broken)}" for cells, broken in rows if broken]
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.split()[-1]  # noqa: S607
    smoke = "A part only, or the short form." if chosen else ""
    parts = {"tables": tables, "nginx": nginx, "watchdog": WATCHDOG, "rate": RATE}
    parts |= {"held": len(rows) - len(failed), "all": len(rows)}
    former = (ROOT / "docs" / "reliability.md").read_text()
    _, head, several = former.partition(SEVERAL)
    parts |= {"several": f"{head}{several}".rstrip()}
    text = write(stack, "reliability.md", smoke=smoke, **parts)
    if failed:
        sys.exit(f"{text}\nPromises that do not hold:\n" + "\n".join(failed))


if __name__ == "__main__":
    main()
