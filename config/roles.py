"""The roles that do not serve, for commands: the owner of the tables, and the sealer."""

import contextlib
import os
from collections.abc import Iterator
from typing import Any

import dj_database_url
from django.conf import settings
from django.db import connection


def as_owner() -> contextlib.AbstractContextManager[None]:
    """This thread's connection belongs to the owner meanwhile: of a laptop, and in tests."""
    return _as_role(os.environ.get("DATABASE_OWNER_URL", ""))


def as_sealer() -> contextlib.AbstractContextManager[None]:
    """This thread's connection belongs to the sealer meanwhile, if DATABASE_SEALER_URL is set."""
    return _as_role(settings.DATABASE_SEALER_URL)


@contextlib.contextmanager
def _as_role(url: str) -> Iterator[None]:
    before = connection.settings_dict
    connection.close()  # not within a transaction
    if url:
        role: dict[str, Any] = dict(dj_database_url.parse(url))
        same = ("USER", "PASSWORD", "HOST", "PORT")
        connection.settings_dict = {**before, **{name: role[name] for name in same}}
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = before
