"""The true reason of a refused request, where its response must not say it.

It is worded when the request is written, seconds later: a query on the request's way would show in
the time of the response.
"""

from collections.abc import Sequence

from django.db.models import prefetch_related_objects

from apikeys.models import ApiKey
from apikeys.usage.models import RefusedRequest
from audit.models import Action, AuditEntry
from config.api.errors import DocumentNotFound

TIME = "%Y-%m-%d %H:%M:%S UTC"


def word(rows: Sequence[RefusedRequest]) -> None:
    """Says why a key does not work, or a document was not found; names the key that was sent."""
    of_keys = [row for row in rows if row.status == 401 and row.key_prefix]
    prefixes = {row.key_prefix for row in of_keys}
    found = ApiKey.objects.filter(prefix__in=prefixes).select_related("workspace", "revoked_by")
    keys = {key.prefix: key for key in found}
    log = AuditEntry.objects.filter(action=Action.KEY_DELETED, key_prefix__in=prefixes)
    deleted = {entry.key_prefix: entry for entry in log}
    for row in of_keys:
        row.reason = _of_key(row, keys.get(row.key_prefix), deleted.get(row.key_prefix))
    prefetch_related_objects(rows, "document__workspace")
    for row in rows:
        if row.cause == DocumentNotFound.code:
            row.reason = _of_document(row)


def _of_key(row: RefusedRequest, key: ApiKey | None, deleted: AuditEntry | None) -> str:
    """Why what was sent, which has the form of a key, is none that works.

    The row is of a key only if that key was sent. Of a deleted one nothing is left to compare.
    """
    if key is None and deleted:
        when = f"was deleted at {deleted.created_at:{TIME}} by {deleted.person}"
        return f"What was sent begins like the key “{deleted.key_name}”, which {when}."
    if key is None:
        return f"No key of this service begins with {row.key_prefix}."
    if key.digest != row.sent_digest:
        return f"What was sent begins like the key “{key.name}”, but the rest differs."
    row.identify(key.snapshot())
    if key.revoked_at:
        by = f" by {key.revoked_by.get_username()}" if key.revoked_by else ""
        return f"The key was revoked at {key.revoked_at:{TIME}}{by}."
    return f"The key expired at {key.expires_at:{TIME}}." if key.expires_at else row.reason


def _of_document(row: RefusedRequest) -> str:
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
