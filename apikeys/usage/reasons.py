"""The true reason of each refused request, worded when a page shows it: a sentence for support.

What it says of keys and documents is their state when the page is opened.
"""

from collections.abc import Collection

from django.db.models import prefetch_related_objects

from apikeys import keys
from apikeys.states import State
from apikeys.usage.models import RefusedRequest
from audit.models import Action, AuditEntry
from config.api import errors
from config.api.parameters import REQUESTS_PER_MINUTE
from config.runtime.key_format import PREFIX

# Causes of a 401, besides `InvalidKey.code`.
MISTYPED = "mistyped_key"  # it begins like one that exists
MALFORMED = "malformed_key"
ABOUT_DOCUMENTS = (errors.DocumentNotFound.code, errors.DocumentNotComplete.code)
# Unknown, deleted, or in another workspace: a text for each would tell which ids exist elsewhere.
NO_DOCUMENT = "The workspace has no document with this id: it is unknown here, or it was deleted."

_TEXTS = {
    errors.TooManyRequests.code: f"The key had made more than {REQUESTS_PER_MINUTE} requests in "
    "its minute.",
    errors.PlanRequired.code: "The workspace’s plan, {reason}, does not include the API.",
    errors.WorkspaceSuspended.code: "The workspace is suspended.",
    errors.HttpsRequired.code: "The request was not sent over HTTPS.",
    errors.ServerError.code: "An unexpected error of the service: the log has it under this "
    "request id.",
    MISTYPED: "What was sent begins like the key “{key_name}”, but the rest differs: it was "
    "mistyped.",
    MALFORMED: f"What was sent begins with {PREFIX} but does not have the form of a key.",
}


def explain(rows: Collection[RefusedRequest], *, for_support: bool) -> None:
    """Replaces the stored `reason` of each row by a sentence. Rows of 1.0.0 have one for support.

    Args:
        for_support: without it, what admins of the workspace are told.
    """
    ours = [row for row in rows if row.cause]
    prefetch_related_objects(ours, "key__revoked_by", "document__workspace")
    deleted = deleted_keys({row.key_prefix for row in ours if row.key_id and not row.key})
    for row in ours:
        row.reason = _sentence(row, deleted.get(row.key_prefix))
    for row in () if for_support else rows:
        row.reason = _for_admins(row)


def _for_admins(row: RefusedRequest) -> str:
    """The reason, with nothing about other workspaces or our servers."""
    if row.status in (500, 503):
        return row.response_text
    if row.response_text == errors.DocumentNotFound.text and row.document_id:
        return NO_DOCUMENT
    return row.reason  # of a malformed id too, which names no document


def unavailable(cause: str, reason: str) -> str:
    """The reason of a 503."""
    return f"The service was not available ({cause}): {reason}" if cause else reason


def _sentence(row: RefusedRequest, deleted: AuditEntry | None) -> str:
    if row.status == 503:
        return unavailable(row.cause, row.reason)
    if row.cause == MALFORMED and row.key_id and row.reason.isdecimal():
        return (
            f"What was sent begins like the key “{row.key_name}”, but has {row.reason} characters "
            f"instead of {keys.LENGTH}: it was not copied whole, or something was added."
        )
    if row.cause == errors.PathNotFound.code and row.path.endswith("/"):
        return f"{errors.PathNotFound.text[:-1]}: it ends in a slash, and paths of the API do not."
    if text := _TEXTS.get(row.cause):
        return text.format(reason=row.reason, key_name=row.key_name)
    if row.cause == errors.InvalidKey.code:
        return _of_key(row, deleted)
    if row.cause == errors.DocumentNotFound.code:
        return _of_missing(row)
    if row.cause == errors.DocumentNotComplete.code:
        status = row.document and f"it is {row.document.status} now"
        return (
            "The document was not complete when the file was requested; "
            f"{status or 'it does not exist any more'}."
        )
    return row.reason


def _of_key(row: RefusedRequest, deleted: AuditEntry | None) -> str:
    """Why what was sent as a key is none that works."""
    key, name = row.key, f"{row.key_prefix}… (“{row.key_name}”)"
    if not row.key_prefix:  # there is no header, or it is of another form
        return f"{row.reason[:1].upper()}{row.reason[1:]}."
    if deleted:
        at, by = f"{deleted.created_at:%Y-%m-%d %H:%M:%S} UTC", deleted.person
        return f"The key {name} was deleted at {at} by {by}."
    if not key:
        return f"No key of this service begins with {row.key_prefix}."
    if key.revoked_at:
        by = f" by {key.revoked_by.get_username()}" if key.revoked_by else ""
        return f"The key {name} was revoked at {key.revoked_at:%Y-%m-%d %H:%M:%S} UTC{by}."
    if key.state is State.EXPIRED:
        return f"The key {name} expired at {key.expires_at:%Y-%m-%d %H:%M:%S} UTC."
    return f"The key {name} is active now."


def _of_missing(row: RefusedRequest) -> str:
    """Why the workspace does not have the document; clients must not know."""
    document = row.document
    if row.document_id is None:
        return "The id in the path is malformed: it must be a UUID of 36 characters."
    if document is None:
        return "No document has this id."
    if document.workspace_id != row.workspace_id:
        owner = document.workspace
        return f"The document belongs to another workspace: “{owner.name}” ({owner.pk})."
    if document.deleted_at:
        return f"The document was deleted at {document.deleted_at:%Y-%m-%d %H:%M:%S} UTC."
    return "The document exists now: it was created or restored after the request."


def deleted_keys(prefixes: Collection[str]) -> dict[str, AuditEntry]:
    """The entries of deleted keys, by the first characters of the keys."""
    found = AuditEntry.objects.filter(action=Action.KEY_DELETED, key_prefix__in=prefixes)
    return {entry.key_prefix: entry for entry in found} if prefixes else {}
