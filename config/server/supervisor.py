"""The main process of an instance: it replaces its worker, and stops it within a grace period."""

import contextlib
import functools
import logging
import multiprocessing
import os
import socket
import threading
import time
from typing import Any

from django.conf import settings
from granian.constants import HTTPModes, Interfaces
from granian.http import HTTP1Settings
from granian.log import LogLevels
from granian.server.mp import MPServer

from config.runtime.ports import accepts_connections
from config.server.worker import load_application

logger = logging.getLogger(__name__)

POLL = 0.25  # seconds
START_TIMEOUT = 60  # seconds that a worker may take until it says that it lives
FROZEN_AFTER = 15  # seconds without a sign of life until a worker is replaced
HEADER_TIMEOUT = 10_000  # milliseconds that a client may take to send its headers


class _PolledEvent(threading.Event):
    """An event whose waiter looks for signals in between.

    The kernel may give a signal to any thread. Python's handler runs in the main thread, which
    would not wake up for it.
    """

    def wait(self, timeout: float | None = None) -> bool:
        while not super().wait(POLL):
            pass
        return True


class Supervisor(MPServer):
    """granian's main process with one worker, which is also replaced if it freezes.

    Args:
        grace: seconds that running requests get when it stops.
    """

    def __init__(self, host: str, port: int, *, threads: int, grace: int) -> None:
        super().__init__(
            "config.wsgi:application",
            address=host,
            port=port,
            interface=Interfaces.WSGI,
            workers=1,
            blocking_threads=threads,
            blocking_threads_idle_timeout=600,  # seconds
            http=HTTPModes.http1,
            http1_settings=HTTP1Settings(header_read_timeout=HEADER_TIMEOUT),
            websockets=False,
            respawn_failed_workers=True,
            workers_kill_timeout=grace,
            log_level=LogLevels.warning,
            log_dictconfig=settings.LOGGING,
        )
        self.main_loop_interrupt = _PolledEvent()
        # A forked worker would inherit the locks of this process's threads, its database sockets
        # and its handlers: a SIGTERM while the worker starts would be lost.
        multiprocessing.set_start_method("spawn", force=True)
        self._heartbeat = multiprocessing.Value("d", 0.0, lock=False)
        self._load = functools.partial(load_application, self._heartbeat, grace)

    def run(self) -> None:
        """Serves until a signal stops it; exits with status 1 when workers cannot start."""
        threading.Thread(target=self._watch, name="watcher", daemon=True).start()
        # Not MPServer.serve, which warns of many threads: ours mostly wait for a slot.
        super(MPServer, self).serve(target_loader=self._load)

    def _respawn_workers(self, *args: Any, **options: Any) -> None:
        """Replaces the worker. granian gives up if the new one ends within 5.5 seconds.

        That is right if no worker can start. It is wrong if the last one lived, and something
        kills it again and again.
        """
        lived, self._heartbeat.value = self._heartbeat.value, 0
        super()._respawn_workers(*args, **options)
        if lived:
            self.respawned_wrks.clear()

    def _watch(self) -> None:
        """Kills a worker that shows no sign of life; granian's main loop replaces it.

        Seconds without a change are counted, not the age of the last sign: if this process was
        stopped too, the worker had no chance to give one.
        """
        last, unchanged, ready = 0.0, 0, False
        while not self.interrupt_signal:
            time.sleep(1)
            notify("WATCHDOG=1")
            if not ready and accepts_connections(self.bind_addr, self.bind_port):
                ready = True
                notify("READY=1")
            beat = self._heartbeat.value
            unchanged = unchanged + 1 if beat == last else 0
            last = beat
            if unchanged >= (FROZEN_AFTER if beat else START_TIMEOUT):
                logger.error("The worker has not responded for %d seconds: killed", unchanged)
                last = unchanged = 0
                for worker in list(self.wrks):
                    worker.inner.kill()


def notify(state: str) -> None:
    """Tells systemd, if it started this process, about its state (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET")
    if not address:
        return
    if address.startswith("@"):  # an abstract socket
        address = "\0" + address[1:]
    with (
        contextlib.suppress(OSError),  # nobody listens: the worker is watched all the same
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender,
    ):
        sender.sendto(state.encode(), address)
