"""The application: `uvicorn bench.peers.fastapi.app:app`."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal
from uuid import UUID

import asyncpg
import redis.asyncio
from fastapi import FastAPI, HTTPException, Query

from bench.peers.fastapi.documents import ONE, page, with_recipients
from bench.peers.fastapi.keys import Connection, CurrentKey
from bench.peers.fastapi.models import (
    Counts,
    DocumentDetail,
    DocumentList,
    KeyName,
    Me,
    Summary,
    WorkspaceName,
)

Status = Literal["DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED"]
COUNTS = """
    SELECT status, sum(count)::bigint AS count FROM workspaces_documentcount
    WHERE workspace_id = $1 AND status IN ('DRAFT', 'SENT', 'COMPLETED') GROUP BY status
"""


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    async with asyncpg.create_pool(os.environ["DATABASE_URL"]) as pool:
        app.state.pool = pool
        app.state.redis = redis.asyncio.from_url(os.environ["REDIS_URL"])
        yield
        await app.state.redis.aclose()


app = FastAPI(lifespan=lifespan)


@app.get("/api/v1/me")
async def me(connection: Connection, key: CurrentKey) -> Me:
    rows = await connection.fetch(COUNTS, key["workspace_id"])
    return Me(
        data=Summary(
            workspace=WorkspaceName(id=key["workspace_id"], name=key["workspace_name"]),
            key=KeyName(id=key["id"], name=key["name"]),
            documents=Counts(**{row["status"].lower(): row["count"] for row in rows}),
        )
    )


@app.get("/api/v1/documents")
async def documents(
    connection: Connection,
    key: CurrentKey,
    limit: Annotated[int, Query(ge=1, le=100)] = 25,
    status: Status | None = None,
    cursor: str | None = None,
) -> DocumentList:
    data, following = await page(connection, key["workspace_id"], limit, status, cursor)
    return DocumentList(data=data, next_cursor=following)


@app.get("/api/v1/documents/{document_id}")
async def document(connection: Connection, key: CurrentKey, document_id: UUID) -> DocumentDetail:
    row = await connection.fetchrow(ONE, document_id, key["workspace_id"])
    if row is None:
        raise HTTPException(404, "There is no such document.")
    [found] = await with_recipients(connection, [row])
    return DocumentDetail(data=found)
