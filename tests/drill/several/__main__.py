"""`make drill-several`: takes away one machine after the other under load, and loses nothing.

The machines are network namespaces with the files of deploy/several: a balancer, three databases
with Patroni and etcd, two nodes, two Redis with Sentinel, and an object storage. When all faults
were run and every promise holds, it writes its part of docs/reliability.md.

What it does not prove: systemd, a second balancer, and an object storage that fails.
"""

import argparse
import asyncio
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from bench.client import Outcome, Request, counts
from bench.faults.node import steady
from bench.report import SEVERAL, commit, table
from bench.servers import THREADS
from bench.traffic import DOWNLOAD
from tests.drill.several import machines
from tests.drill.several.clients import SCALE, Consumer, SigningService, clients, requests
from tests.drill.several.machines import CHECKOUT, DATABASES, FOLDER, eventually, rows, run

PROGRAMS = ("haproxy", "etcd", "patroni", "patronictl", "nginx", "redis-server", "ip", "openssl")
# It ends with all its children, networks and mounts. The shell waits for processes whose parent was
# killed: Patroni believes that a PostgreSQL runs as long as nobody has waited for it.
ALONE = shlex.split(
    "unshare --net --mount --pid --ipc --mount-proc --fork --kill-child"
    " sh -c 'nice \"$@\"; exit $?' sh"
)
RATE = 12.0  # requests a second
PAGE = CHECKOUT / "docs" / "reliability.md"
HEAD = ("fault", "new leader after", "responses", "503 for", "at most", "slowest", "whole after")
RECORDED = "SELECT request_id FROM audit_auditentry WHERE action = 'document.downloaded'"
EVENTS = "SELECT replace(uuid::text, '-', ''), transaction FROM events_event WHERE id > %s"
LAST_EVENT = "SELECT max(id) FROM events_event"
CONNECTIONS = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'documents'"


@contextmanager
def killed(machine: str) -> Iterator[None]:
    machines.send_signal(machine, signal.SIGKILL)
    yield
    machines.boot(machine)


@contextmanager
def frozen(machine: str) -> Iterator[None]:
    machines.send_signal(machine, signal.SIGSTOP)
    yield
    machines.send_signal(machine, signal.SIGCONT)


@contextmanager
def cut_off(machine: str) -> Iterator[None]:
    run("ip", "link", "set", machine, "down")
    yield
    run("ip", "link", "set", machine, "up")


@contextmanager
def switched(machine: str) -> Iterator[None]:
    words = ("patronictl", "-c", FOLDER / machine / "patroni.yml", "switchover", "--force")
    run(*machines.inside(machine, *words))
    yield


@contextmanager
def without_etcd(leader: str) -> Iterator[None]:
    others = [machine for machine in DATABASES if machine != leader]
    for machine in others:
        machines.send_signal(machine, signal.SIGKILL, b"etcd\0")
    yield
    for machine in others:
        machines.start_etcd(machine)


class Fault(NamedTuple):
    during: Callable[[], AbstractContextManager[None]]
    seconds: float  # that it lasts
    outage: float = 0.0  # seconds from the first 503 to the end of the last one, at most


FAULTS = {
    "leader-killed": Fault(lambda: killed(machines.leader()), 35, 35),
    "leader-frozen": Fault(lambda: frozen(machines.leader()), 60, 35),
    "leader-off-the-network": Fault(lambda: cut_off(machines.leader()), 50, 35),
    "planned-switch": Fault(lambda: switched(machines.leader()), 15, 15),
    "redis-master-off-the-network": Fault(lambda: cut_off(machines.redis_master()), 20),
    "node-killed": Fault(lambda: killed("node2"), 20),
    "two-of-three-etcd-killed": Fault(lambda: without_etcd(machines.leader()), 30),
}


def ended(one: Outcome) -> float:
    return one.due + one.seconds


def inflict(name: str, outcomes: Sequence[Outcome]) -> tuple[list[str], list[str]]:
    """The row of one fault, and what is not as promised."""
    fault = FAULTS[name]
    former, began, new = machines.leader(), time.monotonic(), "–"
    print(f"{name}; {former} leads", flush=True)

    def failures() -> list[Outcome]:
        return [each for each in outcomes if each.due >= began and not each.right]

    def quiet_seconds() -> float:
        return time.monotonic() - max(map(ended, failures()), default=began)

    with fault.during():
        while time.monotonic() < began + fault.seconds:
            if new == "–" and machines.leader() not in ("", former):
                new = f"{time.monotonic() - began:.1f} s"
            time.sleep(0.5)
    end = time.monotonic()
    eventually(machines.complete, f"PostgreSQL is whole again after {name}")
    whole = time.monotonic() - end
    eventually(lambda: quiet_seconds() > 5, f"clients are served after {name}")
    found, failed = [each for each in outcomes if each.due >= began], failures()
    first = min((each.due for each in failed), default=began)
    outage = max(map(ended, failed), default=first) - first
    rude = [each for each in failed if each.status != 503 or not each.polite]
    broken = []
    if rude:
        broken.append(f"{name}: {counts(rude)}, and no 503 in JSON with Retry-After")
    if outage > fault.outage:
        broken.append(f"{name}: 503 for {outage:.1f} s")
    slowest = max(each.seconds for each in found)
    cells = [
        counts(found),
        f"{outage:.1f} s",
        f"{fault.outage:g} s",
        f"{slowest:.1f} s",
        f"{whole:.0f} s",
    ]
    return [name.replace("-", " "), new, *cells], broken


async def burst(load: Sequence[Request]) -> None:
    client = clients()
    await asyncio.gather(*map(client.send, load[: machines.CLIENTS]))
    await client.close()


def count_connections(load: Sequence[Request]) -> tuple[str, list[str]]:
    """What the instances hold after two bursts: threads of the first one may have ended."""
    asyncio.run(burst(load))
    time.sleep(36)
    asyncio.run(burst(load))
    [(count,)] = rows(CONNECTIONS)
    most = 4 * (THREADS + 3)
    broken = [f"{count} connections, at most {most} are promised"] if count > most else []
    return f"Four instances have {count} connections after two bursts, 36 seconds apart.", broken


def compare(
    outcomes: Sequence[Outcome], consumer: Consumer, service: SigningService, first: int
) -> tuple[str, list[str]]:
    """What was acknowledged and what there is, in a sentence; and what is missing."""
    downloads = {o.request_id for o in outcomes if o.right and o.endpoint == DOWNLOAD}
    recorded = {request_id for (request_id,) in rows(RECORDED)}
    events, seen = dict(rows(EVENTS, first)), Counter(consumer.events)
    differences: dict[str, set[Any]] = {
        "acknowledged downloads are not in the audit log": downloads - recorded,
        "acknowledged changes have no event": set(service.transactions) - set(events.values()),
        "events were missed": events.keys() - seen.keys(),
        "events are not in the table": seen.keys() - events.keys(),
        "events were seen twice": {event for event, times in seen.items() if times > 1},
        "responses to the consumer were wrong": set(consumer.refused),
    }
    text = f"{len(outcomes):,} requests, with {len(downloads):,} acknowledged downloads, and"
    broken = [] if service.transactions else ["The signing service has changed nothing."]
    for what, some in differences.items():
        if some:
            broken.append(f"{len(some)} {what}: {sorted(some)[:3]}")
    return f"{text} {len(events):,} events.", broken


def drill(chosen: Sequence[str]) -> None:
    machines.set_up(SCALE)
    load = eventually(requests, "the service responds")
    print("All machines serve.", flush=True)
    connections, broken = count_connections(load)
    [(first,)] = rows(LAST_EVENT)
    end, no_change = threading.Event(), threading.Event()
    consumer, service = Consumer(end), SigningService(no_change)
    consumer.start()
    service.start()
    found = []
    with steady(clients(), load, RATE) as outcomes:
        time.sleep(5)
        for name in chosen or FAULTS:
            row, problems = inflict(name, outcomes)
            print("  ", *row, *problems, sep="\n   ", flush=True)
            found.append(row)
            broken += problems
        no_change.set()
        time.sleep(5)  # in which the consumer sees the last events
    end.set()
    consumer.join()
    text, lost = compare(outcomes, consumer, service, first)
    print(text, connections)
    if broken + lost:
        sys.exit("\n".join(["Not as promised:", *broken, *lost]))
    lines = table(HEAD, found)
    print(*lines, sep="\n")
    if not chosen:
        before = PAGE.read_text().partition(SEVERAL)[0]
        PAGE.write_text(before + SEVERAL + written(text, connections, lines))


def written(text: str, connections: str, lines: Sequence[str]) -> str:
    """The part of the page."""
    when = f"{datetime.now(UTC):%Y-%m-%d}, at commit {commit(CHECKOUT)}"
    versions = f"PostgreSQL {machines.POSTGRES.parent.name}, Patroni {version('patroni')}, "
    versions += f"etcd {version('etcd')}, HAProxy {version('haproxy', '-v')}"
    return f"""
Written by `make drill-several` on {when}, with {versions}.
All machines share {os.cpu_count()} cores; [several-machines.md](several-machines.md) shows them.

The load through the balancer is that of `make faults`, {RATE:g} requests a second: {text}
Every acknowledged download is in the audit log, and every event was seen once. No body was wrong,
and each response that is no 200 is a 503 in JSON with `Retry-After`. Nobody had to act.
{connections}

"503 for" is the time from the first 503 to the end of the last one, and "at most" what is promised.
"Whole after" is the time from the end of the fault until two standbys follow the leader.

""" + "\n".join(lines)


def version(program: str, option: str = "--version") -> str:
    """Such as 3.5.16."""
    [found, *_] = re.findall(r"\d+\.[\d.]*\d", run(program, option))
    return str(found)


def main() -> None:
    parser = argparse.ArgumentParser(description="Takes away one machine after the other.")
    parser.add_argument("--only", nargs="+", choices=FAULTS, default=[])
    chosen = parser.parse_args().only
    if "DRILL_FOLDER" in os.environ:
        drill(chosen)
        return
    if lacks := [program for program in PROGRAMS if not shutil.which(program)]:
        sys.exit(f"The drill lacks {', '.join(lacks)}: tests/README.md says how to install it.")
    with tempfile.TemporaryDirectory(prefix="drill-several-") as folder:
        Path(folder).chmod(0o755)  # not all programs run as root
        (Path(folder) / "logs").mkdir()
        command = [*ALONE, sys.executable, "-m", "tests.drill.several", *sys.argv[1:]]
        environment = {**os.environ, "DRILL_FOLDER": folder}
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        code = subprocess.run(command, env=environment, cwd=CHECKOUT).returncode
        if code:
            print(f"The machines' logs: {shutil.copytree(f'{folder}/logs', f'{folder}-logs')}")
    sys.exit(code)


if __name__ == "__main__":
    main()
