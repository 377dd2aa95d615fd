"""The floor: a bare WSGI function and one SQL statement, in which PostgreSQL builds the JSON.

`granian --interface wsgi bench.peers.floor:application`. Python without a framework or models: a
reference for the cost of ours. It is no limit; a service in another language can be quicker.
"""

import hashlib
import os
import threading
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qsl

import psycopg
import redis

from bench.peers import PLANS, REQUESTS_PER_MINUTE

# Each statement begins with the key, and with whether its use is to be recorded.
KEY = """
    WITH key AS (
        SELECT k.id, k.name, k.workspace_id, w.name AS workspace_name, w.plan, w.suspended,
            k.last_used_at IS NULL OR k.last_used_at <= now() - interval '1 minute' AS due
        FROM apikeys_apikey k JOIN workspaces_workspace w ON w.id = k.workspace_id
        WHERE k.digest = %(digest)s AND k.revoked_at IS NULL
    )
"""
TIME = """CASE WHEN date_part('microseconds', {0})::bigint %% 1000000 = 0
    THEN to_char({0}, 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
    ELSE to_char({0}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') END"""
RECIPIENT = f"""
    json_build_object('id', r.id, 'name', r.name, 'email', r.email, 'role', r.role,
        'status', r.status, 'order', r."order", 'sentAt', {TIME.format("r.sent_at")},
        'viewedAt', {TIME.format("r.viewed_at")}, 'completedAt', {TIME.format("r.completed_at")},
        'declinedAt', {TIME.format("r.declined_at")}, 'declineReason', r.decline_reason)
"""
DOCUMENT = f"""
    json_build_object('id', d.id, 'title', d.title, 'status', d.status,
        'fileName', d.file_name, 'pageCount', d.page_count, 'fileSize', d.file_size,
        'signingOrder', d.signing_order, 'createdAt', {TIME.format("d.created_at")},
        'sentAt', {TIME.format("d.sent_at")}, 'completedAt', {TIME.format("d.completed_at")},
        'expiresAt', {TIME.format("d.expires_at")},
        'progress', json_build_object('done', signers.done, 'total', signers.total),
        'recipients', signers.recipients,
        'links', json_build_object('self', '/api/v1/documents/' || d.id,
            'download', '/api/v1/documents/' || d.id || '/download'))
"""
RECIPIENTS = f"""
    LATERAL (SELECT coalesce(json_agg({RECIPIENT} ORDER BY r."order", r.id), '[]') AS recipients,
        count(*) FILTER (WHERE r.role IN ('SIGNER', 'APPROVER')) AS total,
        count(*) FILTER (WHERE r.role IN ('SIGNER', 'APPROVER')
            AND r.status IN ('SIGNED', 'APPROVED')) AS done
        FROM documents_recipient r WHERE r.document_id = d.id) signers
"""  # noqa: S608 - constants
FACTS = "key.id, key.due, key.suspended, key.plan"
ME = f"""{KEY}
    SELECT {FACTS}, json_build_object('data', json_build_object(
        'workspace', json_build_object('id', key.workspace_id, 'name', key.workspace_name),
        'key', json_build_object('id', key.id, 'name', key.name),
        'documents', (SELECT json_build_object(
            'draft', coalesce(sum(count) FILTER (WHERE status = 'DRAFT'), 0),
            'sent', coalesce(sum(count) FILTER (WHERE status = 'SENT'), 0),
            'completed', coalesce(sum(count) FILTER (WHERE status = 'COMPLETED'), 0))
            FROM workspaces_documentcount WHERE workspace_id = key.workspace_id)))::text
    FROM key
"""  # noqa: S608
ONE = f"""{KEY}
    SELECT {FACTS}, (SELECT json_build_object('data', {DOCUMENT})
        FROM documents_document d, {RECIPIENTS}
        WHERE d.id = %(id)s AND d.workspace_id = key.workspace_id AND d.deleted_at IS NULL)::text
    FROM key
"""  # noqa: S608
PAGE = f"""{KEY}, page AS (
        SELECT d.* FROM documents_document d
        WHERE workspace_id = (SELECT workspace_id FROM key) AND deleted_at IS NULL {{condition}}
        ORDER BY created_at DESC, id DESC LIMIT %(limit)s + 1
    ), shown AS (SELECT * FROM page LIMIT %(limit)s)
    SELECT {FACTS}, json_build_object(
        'data', coalesce((SELECT json_agg({DOCUMENT} ORDER BY d.created_at DESC, d.id DESC)
            FROM shown d, {RECIPIENTS}), '[]'),
        'nextCursor', CASE WHEN (SELECT count(*) FROM page) > %(limit)s THEN
            (SELECT created_at || '_' || id FROM shown ORDER BY created_at, id LIMIT 1) END)::text
    FROM key
"""  # noqa: S608
AFTER = "AND (created_at, id) < (%(time)s::timestamptz, %(id)s::uuid)"
RECORD_USE = """
    UPDATE apikeys_apikey SET last_used_at = now()
    WHERE id = %s AND (last_used_at IS NULL OR last_used_at <= now() - interval '1 minute')
"""
_local = threading.local()
_counter = redis.Redis.from_url(os.environ["REDIS_URL"])


def connection() -> psycopg.Connection[Any]:
    """This thread's connection; each statement is prepared and planned once.

    By default PostgreSQL plans these again for each request, which doubles their cost.
    """
    if not hasattr(_local, "connection"):
        _local.connection = psycopg.connect(
            os.environ["DATABASE_URL"],
            autocommit=True,
            prepare_threshold=0,
            options="-c plan_cache_mode=force_generic_plan",
        )
    own: psycopg.Connection[Any] = _local.connection
    return own


def statement(path: str, query: str) -> tuple[str, dict[str, Any]]:
    """The statement of a path, and its values."""
    if path == "/api/v1/me":
        return ME, {}
    if path != "/api/v1/documents":
        return ONE, {"id": path.rpartition("/")[2]}
    parameters = dict(parse_qsl(query))
    values: dict[str, Any] = {"limit": int(parameters.get("limit", 25))}
    if "cursor" not in parameters:
        return PAGE.format(condition=""), values
    time, _, document = parameters["cursor"].partition("_")
    return PAGE.format(condition=AFTER), {**values, "time": time, "id": document}


def respond(environ: dict[str, Any]) -> tuple[str, str]:
    """The status line and the body, which is empty for an error."""
    raw = environ.get("HTTP_AUTHORIZATION", "").removeprefix("Bearer ")
    digest = hashlib.sha256(raw.encode()).hexdigest()
    count = _counter.incr(digest)
    if count == 1:
        _counter.expire(digest, 60)
    query, values = statement(environ["PATH_INFO"], environ["QUERY_STRING"])
    row = connection().execute(query, {**values, "digest": digest}).fetchone()
    if row is None:
        return "401 Unauthorized", ""
    key_id, due, suspended, plan, body = row
    if due:
        connection().execute(RECORD_USE, [key_id])
    if count > REQUESTS_PER_MINUTE:
        return "429 Too Many Requests", ""
    if suspended:
        return "403 Forbidden", ""
    if plan not in PLANS:
        return "402 Payment Required", ""
    return ("404 Not Found", "") if body is None else ("200 OK", body)


def application(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
    status, text = respond(environ)
    body = text.encode()
    headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
    start_response(status, headers)
    return [body]
