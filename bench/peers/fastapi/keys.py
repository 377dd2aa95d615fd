"""Who asks, how often, and whether they may."""

import hashlib
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

REQUESTS_PER_MINUTE = 300
FIND = """
    SELECT k.id, k.name, k.last_used_at, k.workspace_id, w.name AS workspace_name, w.plan,
        w.suspended
    FROM apikeys_apikey k JOIN workspaces_workspace w ON w.id = k.workspace_id
    WHERE k.digest = $1 AND k.revoked_at IS NULL
"""
NOTE_USE = """
    UPDATE apikeys_apikey SET last_used_at = $2
    WHERE id = $1 AND (last_used_at IS NULL OR last_used_at <= $3)
"""
bearer = HTTPBearer(auto_error=False)


async def pooled(request: Request) -> AsyncIterator[Any]:
    """One connection for the whole request: each release costs the pool a round trip."""
    async with request.app.state.pool.acquire() as connection:
        yield connection


Connection = Annotated[Any, Depends(pooled)]


async def current_key(
    request: Request,
    connection: Connection,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)],
) -> Any:
    """The row of the request's key, with its workspace."""
    counter = request.app.state.redis
    if credentials is None or not credentials.credentials.startswith("dtd_"):
        raise HTTPException(401, "The API key is missing or not valid.")
    digest = hashlib.sha256(credentials.credentials.encode()).hexdigest()
    key = await connection.fetchrow(FIND, digest)
    if key is None:
        raise HTTPException(401, "The API key is missing or not valid.")
    now = datetime.now(UTC)
    due = now - timedelta(minutes=1)
    if key["last_used_at"] is None or key["last_used_at"] <= due:
        await connection.execute(NOTE_USE, key["id"], now, due)
    counted = f"rate:{key['id']}"
    count = await counter.incr(counted)
    if count == 1:
        await counter.expire(counted, 60)
    if count > REQUESTS_PER_MINUTE:
        raise HTTPException(429, f"Try again in {max(1, await counter.ttl(counted))} seconds.")
    if key["suspended"]:
        raise HTTPException(403, "The workspace is suspended.")
    if key["plan"] not in ("PRO", "BUSINESS"):
        raise HTTPException(402, "The plan does not include the API.")
    return key


CurrentKey = Annotated[Any, Depends(current_key)]
