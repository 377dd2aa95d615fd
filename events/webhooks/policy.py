"""The rules of webhooks: when attempts are made, how many, and when an endpoint is switched off."""

import random
from datetime import timedelta

# Seconds before each attempt, from the end of the one before: 5 s, 5 min, 30 min, 2 h, 5 h, …
DELAYS = (0, 5, 300, 1800, 7200, 18_000, 36_000, 50_400, 72_000, 86_400)
JITTER = 0.1  # a delay is up to this share longer or shorter
MOST_RETRY_AFTER = 3600  # seconds: a Retry-After asks for this much at most
RETRY_AFTER_STATUSES = (429, 503)  # with which Retry-After counts

ATTEMPT_SECONDS = 15.0  # from resolving the host's name to the response's last byte
LEASE_SECONDS = 20  # that a process has a delivery for itself; if it is killed, others wait so long
AT_ONCE = 10  # attempts in progress for an endpoint, over all processes; 1 if it fails

FAILING_DAYS = 5  # that deliveries are tried without any success, until an endpoint is off
FAILING = f"no attempt has succeeded for {FAILING_DAYS} days"
GONE_STATUS = 410  # switches an endpoint off at once
GONE = "it responded with 410 Gone"

BOTH_SECRETS = timedelta(hours=24)  # after a secret was rolled, deliveries have both signatures
KEEP = timedelta(days=30)  # deliveries, whatever became of them
LABEL_LENGTH = 100  # characters of an endpoint's name
MOST_ENDPOINTS = 20  # of a workspace: each one multiplies what is delivered


def next_delay(failures: int, retry_after: int) -> float | None:
    """Seconds until the next attempt; None if there is none."""
    if failures >= len(DELAYS):
        return None
    jittered = DELAYS[failures] * random.uniform(1 - JITTER, 1 + JITTER)  # noqa: S311
    return max(jittered, min(retry_after, MOST_RETRY_AFTER))
