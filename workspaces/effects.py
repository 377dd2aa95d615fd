"""What stops, or works again, when a workspace's access to the API changes.

Apps above this one register what they have, since this one does not know them.
"""

from collections.abc import Callable

from workspaces.models import Workspace

_counts: dict[str, Callable[[Workspace], int]] = {}


def register(noun: str, count: Callable[[Workspace], int]) -> None:
    """Adds a kind of thing that works only while the workspace may use the API.

    Args:
        noun: in the singular, "active key".
        count: how many the workspace has.
    """
    _counts[noun] = count


def sentences(workspace: Workspace, *, works: bool) -> list[str]:
    """What a change does, such as "3 active keys stop now."; one sentence for each kind.

    Args:
        works: whether the workspace may use the API after the change, and could not before.
    """
    return [_sentence(noun, count(workspace), works) for noun, count in _counts.items()]


def _sentence(noun: str, count: int, works: bool) -> str:
    if not count:
        return f"It has no {noun}s."
    verb, end = ("work", "again from the next request on") if works else ("stop", "now")
    return f"1 {noun} {verb}s {end}." if count == 1 else f"{count:,} {noun}s {verb} {end}."
