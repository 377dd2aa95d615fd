"""What a search of the refused requests is recognised as, in whatever text was pasted."""

import re

from django.core.exceptions import ValidationError
from django.db.models import Q

from apikeys.usage.models import REQUEST_ID_SHORT
from audit.search import MOST_IDS, Recognised, ids_and_addresses
from config.key_format import PREFIX, PUBLIC_LENGTH

CAN_BE_FOUND = (
    f"a request id or its first {REQUEST_ID_SHORT} characters, the id or URL of a document, the id "
    f"of a key or a workspace, an address, or the first {PUBLIC_LENGTH} characters of a key"
)
NOT_HERE = "not_here"  # the code of the error
# Not a part of a longer word or of a UUID.
_BEGINNING = re.compile(
    rf"(?<![\w-])[0-9a-f]{{{REQUEST_ID_SHORT},31}}(?![\w-])", re.IGNORECASE | re.ASCII
)


def recognise(text: str) -> list[Recognised]:
    """What a text may be: whole ids and addresses in it, or else beginnings of request ids.

    Args:
        text: without a raw key.

    Raises:
        ValidationError: there is nothing in it that can be searched for.
    """
    if text.startswith(PREFIX) and len(text) == PUBLIC_LENGTH:
        return [Recognised("First characters of a key", text, (Q(key_prefix=text),))]
    found = ids_and_addresses(text) or _beginnings(text)
    if not found:
        raise ValidationError(
            f"Enter {CAN_BE_FOUND}. Names, e-mails and other text can only be searched for in the "
            "audit log.",
            code=NOT_HERE,
        )
    return found


def _beginnings(text: str) -> list[Recognised]:
    digits = dict.fromkeys(each.lower() for each in _BEGINNING.findall(text))
    return [
        Recognised("Beginning of a request id", each, (Q(request_id__startswith=each),))
        for each in list(digits)[:MOST_IDS]
    ]
