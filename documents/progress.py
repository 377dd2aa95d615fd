"""How far a document is."""

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from documents.models import RecipientRole, RecipientStatus

# SPEC: progress counts those asked to sign or approve; CC and VIEWER are not.
ASKED = frozenset({RecipientRole.SIGNER.value, RecipientRole.APPROVER.value})
DONE = frozenset({RecipientStatus.SIGNED.value, RecipientStatus.APPROVED.value})


class Progress(Struct, gc=False):
    """How many of the recipients asked to sign or approve have done so.

    Recipients with the role CC or VIEWER are not counted.
    """

    done: int
    total: int


def progress(recipients: Iterable[Any]) -> Progress:
    """The progress of a document with these recipients, which have a `role` and a `status`."""
    done = total = 0
    for recipient in recipients:
        if recipient.role in ASKED:
            total += 1
            done += recipient.status in DONE
    return Progress(done, total)
