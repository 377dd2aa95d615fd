"""Keys and valid cursors, which schemathesis cannot generate.

schemathesis runs in its own process; the test writes both to the file in the variable FUZZING.
"""

import itertools
import json
import os
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis import AuthContext, Case, HookContext

GIVEN = json.loads(Path(os.environ["FUZZING"]).read_text())
KEYS = itertools.cycle(GIVEN["keys"])  # each may make 300 requests a minute, as any key


@schemathesis.auth(refresh_interval=None)
class NextKey:
    """Each request uses the next key of the workspace."""

    def get(self, case: Case[Any], context: AuthContext) -> str:
        return str(next(KEYS))

    def set(self, case: Case[Any], data: str, context: AuthContext) -> None:
        case.headers["Authorization"] = f"Bearer {data}"


@schemathesis.hook
def before_call(context: HookContext, case: Case[Any], kwargs: dict[str, Any]) -> None:
    """Replaces valid cursors by one for the same filter; invalid ones stay as generated.

    There are too many filters of a search to have a cursor for each.
    """
    query = case.query or {}
    if not case.meta or not case.meta.generation.mode.is_positive:
        return
    if "cursor" in query and case.path.endswith("/search"):
        del query["cursor"]
    elif "cursor" in query:
        query["cursor"] = GIVEN["cursors"][query.get("status", "")]
    if "after" in query:
        query["after"] = GIVEN["after"]
