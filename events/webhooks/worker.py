"""A process that delivers: it claims what is due, makes the attempts, and saves their results.

The attempts run on an event loop; one thread (`sync_to_async`) has the database connection.
"""

import asyncio
import logging
import time

from asgiref.sync import sync_to_async
from django.db import Error as DatabaseError
from django.db import connections

from config.management.progress import first_line
from config.management.shutdown import Shutdown, Stopped
from events.webhooks import queue
from events.webhooks.models import Attempt, Delivery
from events.webhooks.policy import ATTEMPT_SECONDS
from events.webhooks.sender import attempt

logger = logging.getLogger(__name__)

MOST = 800  # attempts at once
SHARE = 100  # attempts at once that have just begun: other processes may have the rest
JUST_SECONDS = 2.0
IDLE_SECONDS = 0.5  # between two looks for what is due
PAUSE_SECONDS = 0.05  # the same while attempts are in progress
STOP_SECONDS = ATTEMPT_SECONDS + 5.0  # for the attempts in progress after a signal


class Worker:
    def __init__(self) -> None:
        self._running: dict[asyncio.Task[None], float] = {}  # with their start
        self._ended: list[Attempt] = []

    async def run(self, shutdown: Shutdown) -> None:
        try:
            while True:
                shutdown.check()
                await self._cycle(claims=True)
        except Stopped:
            end = time.monotonic() + STOP_SECONDS
            while (self._running or self._ended) and time.monotonic() < end:
                await self._cycle(claims=False)
        finally:
            await sync_to_async(connections.close_all)()

    async def _cycle(self, *, claims: bool) -> None:
        started = time.monotonic()
        try:
            if ended := self._ended[:]:
                await sync_to_async(queue.save)(ended)
                del self._ended[: len(ended)]
            if claims:
                # Endpoints that are slow hold none of the places of those that are not.
                just = sum(start > started - JUST_SECONDS for start in self._running.values())
                free = max(0, min(MOST - len(self._running), SHARE - just))
                for delivery in await sync_to_async(queue.claim)(free):
                    task = asyncio.create_task(self._attempt(delivery))
                    self._running[task] = time.monotonic()
        except DatabaseError as exc:
            logger.error("The database: %s; trying again.", first_line(exc))
            await sync_to_async(connections.close_all)()  # the next one may work
            await asyncio.sleep(IDLE_SECONDS)
            return
        took = time.monotonic() - started  # a database that is slow is asked less often
        await asyncio.sleep(max(PAUSE_SECONDS, took) if self._running else IDLE_SECONDS)

    async def _attempt(self, delivery: Delivery) -> None:
        made = await attempt(delivery)
        self._ended.append(made)
        logger.info(
            "Delivery %d of %s to endpoint %s: %s in %d ms",
            delivery.pk,
            delivery.public_event_id,
            delivery.endpoint_id,
            made.error or f"status {made.status}",
            made.milliseconds,
        )
        del self._running[asyncio.current_task()]  # type: ignore[arg-type] # it is a task
