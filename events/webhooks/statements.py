"""The statements of the queue (`events.webhooks.queue`)."""

from workspaces.api_access import HAS_API_ACCESS

CLAIM_SECONDS = 6  # until a claim ends that its process, which was killed, does not renew
AT_ONCE = 10  # attempts in progress for an endpoint, over all processes
AT_ONCE_TROUBLED = 1  # for one that fails or is slow
LOCK = 0x686F6F6B  # an arbitrary number, unique among our advisory locks

# Neither claims nor results wait for the disk: if the database's machine crashes, those of the last
# second are lost, and the attempts are repeated.
NO_WAIT = "SELECT set_config('synchronous_commit', 'off', true)"
# Claims are made one after the other, so that AT_ONCE is exact.
BEGIN = f"{NO_WAIT}, pg_advisory_xact_lock({LOCK})"
# `waiting` jumps from endpoint to endpoint along the index delivery_due, so the number of an
# endpoint's deliveries does not matter. `ready` are those that may receive.
READY = f"""
    WITH RECURSIVE waiting (endpoint_id) AS (
        (SELECT endpoint_id FROM webhooks_delivery WHERE state = 'PENDING'
        ORDER BY endpoint_id LIMIT 1)
        UNION ALL
        SELECT (
            SELECT endpoint_id FROM webhooks_delivery
            WHERE state = 'PENDING' AND endpoint_id > waiting.endpoint_id
            ORDER BY endpoint_id LIMIT 1)
        FROM waiting WHERE waiting.endpoint_id IS NOT NULL
    ), ready AS (
        SELECT endpoint.id, endpoint.failing_since IS NOT NULL AS failing
        FROM waiting CROSS JOIN LATERAL (
            SELECT * FROM webhooks_endpoint AS endpoint
            WHERE endpoint.id = waiting.endpoint_id AND endpoint.enabled
                AND endpoint.deleted_at IS NULL
        ) AS endpoint
        JOIN workspaces_workspace AS workspace ON workspace.id = endpoint.workspace_id
        WHERE {HAS_API_ACCESS}
    )
"""  # noqa: S608 - made of constants
# Each endpoint's first delivery comes before any endpoint's second.
CLAIM = f"""
    {READY}, due AS (
        SELECT first.id, first.next_attempt_at, endpoint.troubled,
            row_number() OVER (
                PARTITION BY endpoint.id ORDER BY first.next_attempt_at, first.id) AS turn
        FROM (
            SELECT id, failing OR id = ANY (%s::uuid[]) AS troubled FROM ready
        ) AS endpoint CROSS JOIN LATERAL (
            SELECT delivery.id, delivery.next_attempt_at FROM webhooks_delivery AS delivery
            WHERE delivery.endpoint_id = endpoint.id AND delivery.state = 'PENDING'
                AND delivery.next_attempt_at <= statement_timestamp()
                AND (delivery.claimed_until IS NULL
                    OR delivery.claimed_until <= statement_timestamp())
                AND (delivery.attempts > 0 OR NOT EXISTS (
                    SELECT FROM webhooks_delivery AS earlier
                    WHERE earlier.endpoint_id = endpoint.id
                        AND earlier.document_id = delivery.document_id
                        AND earlier.sequence < delivery.sequence
                        AND earlier.state = 'PENDING' AND earlier.attempts = 0))
            ORDER BY delivery.next_attempt_at, delivery.id
            LIMIT greatest(0,
                CASE WHEN endpoint.troubled THEN {AT_ONCE_TROUBLED} ELSE {AT_ONCE} END - (
                    SELECT count(*) FROM webhooks_delivery AS running
                    WHERE running.endpoint_id = endpoint.id
                        AND running.claimed_until > statement_timestamp()))
        ) AS first
    ), chosen AS (
        (SELECT * FROM due WHERE NOT troubled
        ORDER BY turn, next_attempt_at, id LIMIT %s::int)
        UNION ALL
        (SELECT * FROM due WHERE troubled
        ORDER BY turn, next_attempt_at, id LIMIT %s::int)
    ), claimed AS (
        UPDATE webhooks_delivery SET claim = gen_random_uuid(),
            claimed_until = statement_timestamp() + interval '{CLAIM_SECONDS} s'
        WHERE id = ANY (ARRAY(SELECT id FROM chosen)) RETURNING *
    )
    SELECT delivery.id, delivery.claim, delivery.failures, delivery.event_id,
        delivery.type, delivery.occurred_at, delivery.document_id::text, delivery.status,
        endpoint.id, endpoint.url, endpoint.secret,
        CASE WHEN endpoint.previous_secret_until > statement_timestamp()
            THEN endpoint.previous_secret ELSE '' END,
        chosen.troubled
    FROM chosen JOIN claimed AS delivery ON delivery.id = chosen.id
        JOIN webhooks_endpoint AS endpoint ON endpoint.id = delivery.endpoint_id
    ORDER BY chosen.troubled, chosen.turn, chosen.next_attempt_at, chosen.id
"""  # noqa: S608 - made of constants

RENEW = f"""
    UPDATE webhooks_delivery
    SET claimed_until = statement_timestamp() + interval '{CLAIM_SECONDS} s'
    WHERE id = ANY (%s) AND claim = ANY (%s)
"""  # noqa: S608 - made of constants

# `mine` is false for a process that was silent for so long that another one has claimed the
# delivery since. It adds its attempt, and a success is a success; the rest is the other's. An
# attempt that is already there was recorded by a commit whose response was lost.
RECORD = """
    WITH result AS (
        SELECT %(id)s::bigint AS id, %(claim)s::uuid AS claim,
            %(succeeded)s::boolean AS succeeded, %(delay)s::float8 AS delay,
            %(started_at)s::timestamptz AS started_at
    ), recorded AS (
        UPDATE webhooks_delivery AS delivery SET
            attempts = attempts + 1,
            failures = failures + CASE WHEN succeeded THEN 0 ELSE 1 END,
            state = CASE WHEN succeeded THEN 'DELIVERED'
                WHEN mine AND delay IS NULL THEN 'FAILED' ELSE state END,
            next_attempt_at = CASE WHEN succeeded THEN NULL
                WHEN mine THEN statement_timestamp() + delay * interval '1 s'
                ELSE next_attempt_at END,
            claim = CASE WHEN succeeded OR mine THEN NULL ELSE delivery.claim END,
            claimed_until = CASE WHEN succeeded OR mine THEN NULL ELSE delivery.claimed_until END
        FROM result CROSS JOIN LATERAL (
            SELECT coalesce(now_claimed.claim = result.claim, false) AS mine
            FROM webhooks_delivery AS now_claimed WHERE now_claimed.id = result.id
        ) AS owner
        WHERE delivery.id = result.id AND NOT EXISTS (
            SELECT FROM webhooks_attempt AS attempt
            WHERE attempt.delivery_id = delivery.id AND attempt.started_at = result.started_at)
        RETURNING delivery.id, attempts
    )
    INSERT INTO webhooks_attempt
        (delivery_id, number, started_at, milliseconds, status, response, error)
    SELECT id, attempts, %(started_at)s, %(milliseconds)s, %(status)s, %(response)s, %(error)s
    FROM recorded
"""

# One that somebody else is changing at the moment is left out: its next attempt says the same.
FAILING = """
    UPDATE webhooks_endpoint SET failing_since = CASE WHEN %(failed)s THEN now() END
    WHERE id IN (
        SELECT id FROM webhooks_endpoint
        WHERE id = ANY (%(ids)s) AND (failing_since IS NULL) = %(failed)s
        ORDER BY id FOR NO KEY UPDATE SKIP LOCKED)
"""
