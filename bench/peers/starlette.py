"""Starlette, asyncpg and hiredis, tuned by hand: rows become msgspec structs, and these JSON."""

import hashlib
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import asyncpg
import msgspec
import redis.asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bench.peers import DONE, PLANS, REQUESTS_PER_MINUTE, SIGNING_ROLES

FIND_KEY = """
    SELECT k.id::text, k.name, w.id::text AS workspace_id, w.name AS workspace_name, w.plan,
        w.suspended, (last_used_at > now() - interval '1 minute') IS NOT TRUE AS due
    FROM apikeys_apikey k JOIN workspaces_workspace w ON w.id = k.workspace_id
    WHERE k.digest = $1 AND k.revoked_at IS NULL
"""
RECORD_USE = "UPDATE apikeys_apikey SET last_used_at = now() WHERE id = $1"
COUNTS = """
    SELECT status, sum(count)::bigint FROM workspaces_documentcount WHERE workspace_id = $1
    GROUP BY status
"""
DOCUMENTS = """
    SELECT d.id::text, title, status, file_name, page_count, file_size, signing_order, created_at,
        sent_at, completed_at, expires_at
    FROM documents_document AS d WHERE workspace_id = $1 AND deleted_at IS NULL
"""
DOCUMENT = f"{DOCUMENTS} AND d.id = $2"
PAGE = f"{DOCUMENTS} ORDER BY created_at DESC, d.id DESC LIMIT $2"
RECIPIENTS = """
    SELECT document_id::text, r.id::text, name, email, role, status, "order", sent_at, viewed_at,
        completed_at, declined_at, decline_reason
    FROM documents_recipient r WHERE document_id = ANY($1::uuid[]) ORDER BY "order", r.id
"""
encode = msgspec.json.Encoder().encode


def struct(fields: str) -> Any:
    return msgspec.defstruct("Struct", fields.split(), rename="camel", gc=False)


Recipient = struct(
    "id name email role status order sent_at viewed_at completed_at declined_at decline_reason"
)
Progress, Links = struct("done total"), struct("self download")
Document = struct(
    "id title status file_name page_count file_size signing_order created_at sent_at completed_at"
    " expires_at progress recipients links"
)


def respond(body: object, status: int = 200) -> Response:
    return Response(encode(body), status, media_type="application/json")


refuse = partial(respond, {"error": "Refused."})


def with_key(endpoint: Callable[..., Awaitable[Response]]) -> Callable[..., Awaitable[Response]]:
    async def checked(request: Request) -> Response:
        raw = request.headers.get("authorization", "").removeprefix("Bearer ")
        digest = hashlib.sha256(raw.encode()).hexdigest()
        async with request.app.state.pool.acquire() as connection:
            key = await connection.fetchrow(FIND_KEY, digest)
            if key is None:
                return refuse(401)
            if key["due"]:
                await connection.execute(RECORD_USE, key["id"])
            counter = request.app.state.redis
            count = await counter.incr(key["id"])
            if count == 1:
                await counter.expire(key["id"], 60)
            if count > REQUESTS_PER_MINUTE:
                return refuse(429)
            if key["suspended"]:
                return refuse(403)
            if key["plan"] not in PLANS:
                return refuse(402)
            return await endpoint(request, connection, key)

    return checked


async def with_recipients(connection: Any, rows: Sequence[Any]) -> list[Any]:
    recipients: dict[str, list[Any]] = {row["id"]: [] for row in rows}
    for document_id, *columns in await connection.fetch(RECIPIENTS, list(recipients)):
        recipients[document_id].append(Recipient(*columns))
    documents = []
    for row in rows:
        own, path = recipients[row["id"]], f"/api/v1/documents/{row['id']}"
        signing = [each.status in DONE for each in own if each.role in SIGNING_ROLES]
        progress, links = Progress(sum(signing), len(signing)), Links(path, f"{path}/download")
        documents.append(Document(*row, progress, own, links))
    return documents


async def me(request: Request, connection: Any, key: Any) -> Response:
    found = dict(await connection.fetch(COUNTS, key["workspace_id"]))
    counts = {status: found.get(status.upper(), 0) for status in ("draft", "sent", "completed")}
    workspace = {"id": key["workspace_id"], "name": key["workspace_name"]}
    named = {"id": key["id"], "name": key["name"]}
    return respond({"data": {"workspace": workspace, "key": named, "documents": counts}})


async def documents(request: Request, connection: Any, key: Any) -> Response:
    limit = int(request.query_params.get("limit", 25))
    rows = await connection.fetch(PAGE, key["workspace_id"], limit + 1)
    shown, following = rows[:limit], None
    if len(rows) > limit:
        following = f"{shown[-1]['created_at'].isoformat()}_{shown[-1]['id']}"
    data = await with_recipients(connection, shown)
    return respond({"data": data, "nextCursor": following})


async def document(request: Request, connection: Any, key: Any) -> Response:
    row = await connection.fetchrow(DOCUMENT, key["workspace_id"], request.path_params["id"])
    found = await with_recipients(connection, [row] if row else [])
    return respond({"data": found[0]}) if found else refuse(404)


async def keep(connection: Any) -> None:
    """Nothing: asyncpg's own reset would be a round trip after each request."""


@asynccontextmanager
async def lifespan(app: Starlette) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["DATABASE_URL"], reset=keep) as pool:
        app.state.pool = pool
        app.state.redis = redis.asyncio.from_url(os.environ["REDIS_URL"])
        yield
        await app.state.redis.aclose()


routes = [
    Route("/api/v1/me", with_key(me)),
    Route("/api/v1/documents", with_key(documents)),
    Route("/api/v1/documents/{id}", with_key(document)),
]
app = Starlette(routes=routes, lifespan=lifespan)
