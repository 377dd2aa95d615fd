"""The application: `uvicorn bench.peers.fastapi.app:app`."""

import hashlib
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any
from uuid import UUID

import asyncpg
import redis.asyncio
from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from bench.peers import DONE, PLANS, REQUESTS_PER_MINUTE, SIGNING_ROLES
from bench.peers.fastapi import models

FIND_KEY = """
    SELECT k.id, k.name, k.last_used_at, k.workspace_id, w.name AS workspace_name, w.plan,
        w.suspended
    FROM apikeys_apikey k JOIN workspaces_workspace w ON w.id = k.workspace_id
    WHERE k.digest = $1 AND k.revoked_at IS NULL
"""
RECORD_USE = """
    UPDATE apikeys_apikey SET last_used_at = $2
    WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)
"""
COUNTS = """
    SELECT status, sum(count)::bigint AS count FROM workspaces_documentcount
    WHERE workspace_id = $1 AND status IN ('DRAFT', 'SENT', 'COMPLETED') GROUP BY status
"""
DOCUMENTS = """
    SELECT id, title, status, file_name, page_count, file_size, signing_order, created_at, sent_at,
        completed_at, expires_at
    FROM documents_document WHERE workspace_id = $1 AND deleted_at IS NULL
"""
RECIPIENTS = """
    SELECT document_id, id, name, email, role, status, "order", sent_at, viewed_at, completed_at,
        declined_at, decline_reason
    FROM documents_recipient WHERE document_id = ANY($1::uuid[]) ORDER BY "order", id
"""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["DATABASE_URL"]) as pool:
        app.state.pool = pool
        app.state.redis = redis.asyncio.from_url(os.environ["REDIS_URL"])
        yield
        await app.state.redis.aclose()


async def pooled(request: Request) -> AsyncIterator[Any]:
    """One connection for the whole request: each release costs the pool a round trip."""
    async with request.app.state.pool.acquire() as connection:
        yield connection


Connection = Annotated[Any, Depends(pooled)]
Bearer = Annotated[HTTPAuthorizationCredentials | None, Depends(HTTPBearer(auto_error=False))]


async def current_key(request: Request, connection: Connection, credentials: Bearer) -> Any:
    """The row of the request's key, with its workspace."""
    counter = request.app.state.redis
    if credentials is None or not credentials.credentials.startswith("dtd_"):
        raise HTTPException(401, "The API key is missing or not valid.")
    digest = hashlib.sha256(credentials.credentials.encode()).hexdigest()
    key = await connection.fetchrow(FIND_KEY, digest)
    if key is None:
        raise HTTPException(401, "The API key is missing or not valid.")
    now = datetime.now(UTC)
    due = now - timedelta(minutes=1)
    if key["last_used_at"] is None or key["last_used_at"] <= due:
        await connection.execute(RECORD_USE, key["id"], now, due)
    counted = f"rate:{key['id']}"
    count = await counter.incr(counted)
    if count == 1:
        await counter.expire(counted, 60)
    if count > REQUESTS_PER_MINUTE:
        raise HTTPException(429, f"Try again in {max(1, await counter.ttl(counted))} seconds.")
    if key["suspended"]:
        raise HTTPException(403, "The workspace is suspended.")
    if key["plan"] not in PLANS:
        raise HTTPException(402, "The plan does not include the API.")
    return key


CurrentKey = Annotated[Any, Depends(current_key)]
app = FastAPI(lifespan=lifespan)


def build(row: Any, recipients: list[models.Recipient]) -> models.Document:
    signing = [recipient for recipient in recipients if recipient.role in SIGNING_ROLES]
    path = f"/api/v1/documents/{row['id']}"
    return models.Document(
        **row,
        progress=models.Progress(done=sum(r.status in DONE for r in signing), total=len(signing)),
        recipients=recipients,
        links=models.Links(self=path, download=f"{path}/download"),
    )


async def with_recipients(connection: Any, rows: Sequence[Any]) -> list[models.Document]:
    recipients: dict[UUID, list[models.Recipient]] = {row["id"]: [] for row in rows}
    for row in await connection.fetch(RECIPIENTS, list(recipients)):
        recipients[row["document_id"]].append(models.Recipient(**row))
    return [build(row, recipients[row["id"]]) for row in rows]


@app.get("/api/v1/me")
async def me(connection: Connection, key: CurrentKey) -> models.Data[models.Me]:
    rows = await connection.fetch(COUNTS, key["workspace_id"])
    found = models.Me(
        workspace=models.Named(id=key["workspace_id"], name=key["workspace_name"]),
        key=models.Named(id=key["id"], name=key["name"]),
        documents=models.Counts(**{row["status"].lower(): row["count"] for row in rows}),
    )
    return models.Data(data=found)


@app.get("/api/v1/documents")
async def documents(
    connection: Connection,
    key: CurrentKey,
    limit: Annotated[int, Query(ge=1, le=100)] = 25,
    cursor: str | None = None,
) -> models.DocumentList:
    values, condition = [key["workspace_id"], limit + 1], ""
    if cursor is not None:
        created_at, _, document_id = cursor.partition("_")
        values += [datetime.fromisoformat(created_at), UUID(document_id)]
        condition = "AND (created_at, id) < ($3, $4)"
    page = f"{DOCUMENTS} {condition} ORDER BY created_at DESC, id DESC LIMIT $2"
    rows = await connection.fetch(page, *values)
    shown = rows[:limit]
    last = shown[-1] if len(rows) > limit else None
    following = last and f"{last['created_at'].isoformat()}_{last['id']}"
    data = await with_recipients(connection, shown)
    return models.DocumentList(data=data, next_cursor=following)


@app.get("/api/v1/documents/{document_id}")
async def document(
    connection: Connection, key: CurrentKey, document_id: UUID
) -> models.Data[models.Document]:
    row = await connection.fetchrow(f"{DOCUMENTS} AND id = $2", key["workspace_id"], document_id)
    if row is None:
        raise HTTPException(404, "There is no such document.")
    [found] = await with_recipients(connection, [row])
    return models.Data(data=found)
