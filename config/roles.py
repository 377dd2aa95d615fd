"""The roles that do not serve, for commands: the owner of the tables, and the sealer."""

import contextlib
from collections.abc import Iterator
from typing import Any

import dj_database_url
from django.db import connection


@contextlib.contextmanager
def as_role(url: str) -> Iterator[None]:
    """This thread's connection belongs to the role of this URL meanwhile, if there is one.

    For use outside of a transaction.
    """
    before = connection.settings_dict
    connection.close()
    if url:
        role: dict[str, Any] = dict(dj_database_url.parse(url))
        same = ("USER", "PASSWORD", "HOST", "PORT")
        options = {**before["OPTIONS"], **role.get("OPTIONS", {})}
        connection.settings_dict = {**before, **{name: role[name] for name in same}}
        connection.settings_dict["OPTIONS"] = options
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict = before
