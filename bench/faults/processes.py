"""What can happen to the service's own processes."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Iterator

import psutil

from bench.faults.node import THREADS, Instance, Node
from bench.servers import PATIENCE

REPLACED_WITHIN = 30  # seconds
GRACE_WITHIN = 31  # seconds from SIGTERM to the end
FAIL_TIMEOUT = 3.0  # seconds; nginx leaves an instance that refused alone for 2
STARTING = (0.3, 0.8, 1.5, 2.2, 3.0)  # seconds after the start


def replaced(
    act: Callable[[psutil.Process], None],
) -> Callable[[Node], contextlib.AbstractContextManager[None]]:
    """What is done to a worker; the fault lasts until its replacement serves."""

    @contextlib.contextmanager
    def during(node: Node) -> Iterator[None]:
        instance = node.instances[0]
        worker = instance.worker()
        start = time.monotonic()
        act(worker)
        with contextlib.suppress(psutil.TimeoutExpired):
            worker.wait(PATIENCE)
        took = time.monotonic() - start
        if worker.is_running():
            worker.kill()
        instance.wait()
        served = time.monotonic() - start
        fact = f"replaced: ended after {took:.1f} s, serves after {served:.1f} s"
        node.must(fact, served <= REPLACED_WITHIN)
        yield

    return during


@contextlib.contextmanager
def killed(*instances: Instance) -> Iterator[None]:
    """SIGKILL of the main processes; at the end they are started again."""
    for instance in instances:
        instance.process.kill()
    try:
        yield
    finally:
        for instance in instances:
            instance.restart()


@contextlib.contextmanager
def main_killed(node: Node) -> Iterator[None]:
    """Of one instance."""
    instance, start = node.instances[0], time.monotonic()
    with killed(instance):
        while (listens := instance.listens()) and time.monotonic() < start + PATIENCE:
            time.sleep(0.1)
        node.must(f"its port is free after {time.monotonic() - start:.1f} s", not listens)
        yield


@contextlib.contextmanager
def terminated_while_starting(node: Node) -> Iterator[None]:
    """SIGTERM to further instances, at different moments of their start."""
    for delay in STARTING:
        instance = Instance(node.stack.folder, node.instances[0].environment)
        instance.start()
        time.sleep(delay)
        instance.process.terminate()
        start = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            instance.process.wait(PATIENCE)
        took = time.monotonic() - start
        node.must(f"after {delay:g} s: ended in {took:.1f} s", took <= GRACE_WITHIN)
        if instance.listens():
            node.must(f"after {delay:g} s: something still listens", holds=False)
        instance.stop()
    yield


@contextlib.contextmanager
def restarted_in_turn(node: Node) -> Iterator[None]:
    """SIGTERM, start, wait until it serves and nginx uses it; then the next one, and so on."""
    stop = threading.Event()

    def go() -> int:
        restarts = 0
        while not stop.is_set():
            node.instances[restarts % len(node.instances)].restart()
            restarts += 1
            time.sleep(FAIL_TIMEOUT)
        return restarts

    running = THREADS.submit(go)
    try:
        yield
    finally:
        stop.set()
        node.facts.append(f"{running.result()} restarts")
