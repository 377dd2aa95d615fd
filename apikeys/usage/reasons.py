"""The true reason of each refused request: a sentence for support, worded when it is written.

That is seconds after the request, so it says what the key and the document were then.
"""

from collections.abc import Sequence

from django.db.models import prefetch_related_objects

from apikeys import keys
from apikeys.models import ApiKey
from apikeys.usage.models import RefusedRequest
from audit.models import Action, AuditEntry
from config.api import errors
from config.api.parameters import REQUESTS_PER_MINUTE
from config.runtime.key_format import PREFIX

MALFORMED = "malformed_key"  # the cause of a 401, besides `InvalidKey.code`
ABOUT_DOCUMENTS = (errors.DocumentNotFound.code, errors.DocumentNotComplete.code)
TIME = "%Y-%m-%d %H:%M:%S UTC"

_TEXTS = {
    errors.TooManyRequests.code: f"The key had made more than {REQUESTS_PER_MINUTE} requests in "
    "its minute.",
    errors.PlanRequired.code: "The workspace’s plan, {0.reason}, does not include the API.",
    errors.WorkspaceSuspended.code: "The workspace is suspended.",
    errors.HttpsRequired.code: "The request was not sent over HTTPS.",
    errors.ServerError.code: "An unexpected error of the service: the log has it under this "
    "request id.",
}


def word(rows: Sequence[RefusedRequest]) -> None:
    """Replaces the log's reason of each row by a sentence, and adds the key that was meant."""
    prefixes = {row.key_prefix for row in rows if row.key_prefix and not row.key_id}
    found = ApiKey.objects.filter(prefix__in=prefixes).select_related("workspace", "revoked_by")
    existing = {key.prefix: key for key in found}
    log = AuditEntry.objects.filter(
        action=Action.KEY_DELETED, key_prefix__in=prefixes - existing.keys()
    )
    deleted = {entry.key_prefix: entry for entry in log}
    prefetch_related_objects(rows, "document__workspace")
    for row in rows:
        key, entry = existing.get(row.key_prefix), deleted.get(row.key_prefix)
        if copy := key.snapshot() if key else entry:
            row.identify(copy)
        row.reason = _sentence(row, key, entry)
        if row.cause == MALFORMED and not row.key_id:
            row.key_prefix = ""  # it may be a secret


def _sentence(row: RefusedRequest, key: ApiKey | None, deleted: AuditEntry | None) -> str:
    if row.status == 503:
        cause = f"The service was not available ({row.cause}): " if row.cause else ""
        return cause + row.reason
    if row.cause == errors.PathNotFound.code and row.path.endswith("/"):
        return f"{errors.PathNotFound.text[:-1]}: it ends in a slash, and paths of the API do not."
    if text := _TEXTS.get(row.cause):
        return text.format(row)
    if row.cause == MALFORMED:
        return _of_malformed(row)
    if row.cause == errors.InvalidKey.code:
        return _of_key(row, key, deleted)
    if row.cause == errors.DocumentNotFound.code:
        return _of_missing(row)
    if row.cause == errors.DocumentNotComplete.code and row.document:
        return f"The document was not complete: it was {row.document.status}."
    return row.reason


def _of_malformed(row: RefusedRequest) -> str:
    if not row.key_id:
        return f"What was sent begins with {PREFIX} but does not have the form of a key."
    return (
        f"What was sent begins like the key “{row.key_name}”, but is none: it has {row.reason} "
        f"characters, and a key has {keys.LENGTH} letters and digits."
    )


def _of_key(row: RefusedRequest, key: ApiKey | None, deleted: AuditEntry | None) -> str:
    """Why what was sent as a key is none that works."""
    if not row.key_prefix:  # there is no header, or it is of another form
        return f"{row.reason[:1].upper()}{row.reason[1:]}."
    name = f"The key {row.key_prefix}… (“{row.key_name}”)"
    if deleted:
        return f"{name} was deleted at {deleted.created_at:{TIME}} by {deleted.person}."
    if not key:
        return f"No key of this service begins with {row.key_prefix}."
    if key.revoked_at:
        by = f" by {key.revoked_by.get_username()}" if key.revoked_by else ""
        return f"{name} was revoked at {key.revoked_at:{TIME}}{by}."
    if key.expires_at and key.state.has_ended:
        return f"{name} expired at {key.expires_at:{TIME}}."
    row.cause = MALFORMED
    return f"What was sent begins like the key “{row.key_name}”, but the rest differs."


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
        return f"The document was deleted at {document.deleted_at:{TIME}}."
    return "The document exists now: it was created or restored just after the request."
