"""Why a key does not work, which the response must not say.

The reason is found when the request is written, seconds later: a query before the response would
show in its time.
"""

from collections.abc import Sequence

from apikeys.authentication import UNKNOWN
from apikeys.models import ApiKey
from apikeys.usage.models import RefusedRequest
from audit.models import Action, AuditEntry

TIME = "%Y-%m-%d %H:%M:%S UTC"


def add_reasons(rows: Sequence[RefusedRequest]) -> None:
    of_keys = [row for row in rows if row.key_prefix and row.reason == UNKNOWN]
    prefixes = {row.key_prefix for row in of_keys}
    found = ApiKey.objects.select_related("workspace", "revoked_by", "replaced_by")
    keys = {key.prefix: key for key in found.filter(prefix__in=prefixes)}
    log = AuditEntry.objects.filter(action=Action.KEY_DELETED, key_prefix__in=prefixes)
    deleted = {entry.key_prefix: entry for entry in log}
    for row in of_keys:
        row.reason = _of_key(row, keys.get(row.key_prefix), deleted.get(row.key_prefix))


def _of_key(row: RefusedRequest, key: ApiKey | None, deleted: AuditEntry | None) -> str:
    """A row names a key only if the whole key was sent. A deleted one leaves nothing to compare."""
    if key is None and deleted:
        when = f"was deleted at {deleted.created_at:{TIME}} by {deleted.person}"
        return f"What was sent begins like the key “{deleted.key_name}”, which {when}."
    if key is None:
        return "No key of this service begins with what was sent: nobody was let in."
    if key.digest != row.sent_digest:
        return f"What was sent begins like the key “{key.name}”, but the rest differs."
    vars(row).update(vars(key.snapshot()))
    if key.revoked_at:
        by = f" by {key.revoked_by.get_username()}" if key.revoked_by else ""
        return f"The key was revoked at {key.revoked_at:{TIME}}{by}."
    ended = f"was rolled to {key.replaced_by}, and ended" if key.replaced_by else "expired"
    return f"The key {ended} at {key.expires_at:{TIME}}." if key.expires_at else row.reason
