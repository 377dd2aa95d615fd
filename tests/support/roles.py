"""The roles that do not serve, of the tests' cluster."""

import os
from contextlib import AbstractContextManager

from config.connections import as_role


def as_owner() -> AbstractContextManager[None]:
    """This thread's connection belongs to the owner of the tables meanwhile."""
    return as_role(os.environ["DATABASE_OWNER_URL"])


def as_sealer() -> AbstractContextManager[None]:
    """This thread's connection belongs to the sealer meanwhile, if there is such a role."""
    return as_role(os.environ.get("DATABASE_SEALER_URL", ""))
