"""What each request pays for the usage of its key being counted: `python -m bench.usage`."""

import os
import time
from typing import Any
from uuid import uuid4

import django

REQUESTS = 20_000
KEYS = 200  # that the requests come from in turn


def measure(rounds: int) -> list[float]:
    """For each round, seconds of processor time a request.

    A request is told to the listeners as `config.middleware.record` does it, after one more
    `remember`. Writing it is apart: one statement every few seconds.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    from django.test import RequestFactory  # noqa: PLC0415 - after the set-up

    from config import listeners  # noqa: PLC0415
    from config.api.request import ActiveKey  # noqa: PLC0415
    from config.request_context import handling, remember  # noqa: PLC0415

    request = RequestFactory().get("/api/v1/me")
    workspace = uuid4()
    keys = [
        ActiveKey(uuid4(), "Sync", "dtd_12345678", None, workspace, "Acme", "PRO", False)
        for _ in range(KEYS)
    ]
    fields: dict[str, Any] = {
        "method": "GET",
        "route": "/api/v1/me",
        "path": "/api/v1/me",
        "status": 200,
        "client_address": "203.0.113.7",
        "user_agent": "sync/1.0",
        "reason": None,
    }
    found = []
    for _ in range(rounds):
        with handling(request) as notes:
            started = time.process_time()
            for number in range(REQUESTS):
                remember(key=keys[number % KEYS])
                listeners.call(request, fields, notes.facts)
            found.append((time.process_time() - started) / REQUESTS)
    return found


if __name__ == "__main__":
    from bench.report import spread

    print(f"{spread([1e6 * each for each in measure(9)])} µs a request")  # noqa: T201
