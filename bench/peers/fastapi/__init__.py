"""The API in FastAPI: asyncpg, pydantic response models, redis.asyncio."""
