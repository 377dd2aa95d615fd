"""Why requests were refused: apps explain the errors of which only they know the cause."""

from collections.abc import Callable, Sequence
from typing import NamedTuple
from uuid import UUID

from config.api.errors import ApiError


class RefusedPath(NamedTuple):
    """A path, as the log has it, that a key of this workspace has requested."""

    path: str
    workspace_id: UUID


class Explanation(NamedTuple):
    """The true reason, in a sentence for support; and the id of the document that the path names.

    Also of one that does not exist: admins must not see the difference to another workspace's.
    """

    text: str
    document_id: UUID | None


Explain = Callable[[Sequence[RefusedPath]], list[Explanation]]

_explanations: dict[str, Explain] = {}


def register(error: type[ApiError], explain: Explain) -> None:
    """Adds what explains an error.

    Args:
        explain: gets many requests together, after their responses were sent.
    """
    _explanations[error.__name__] = explain


def explain_with(error: str) -> Explain | None:
    """What explains the error of this name; None if its response says all."""
    return _explanations.get(error)
