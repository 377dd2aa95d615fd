"""The slots of each class of request."""

from typing import Any

GATES: dict[str, Any] = {}
