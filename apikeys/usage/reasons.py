"""The true reason of each refused request, found after its response: a sentence for support.

The database is asked for many requests together, as it is some seconds later.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from uuid import UUID

from django.db import Error as DatabaseError

from apikeys.models import ApiKey
from apikeys.states import State
from audit.models import Action, AuditEntry
from config import refusals
from config.api.limits import REQUESTS_PER_MINUTE
from config.api.request import ActiveKey
from config.key_format import PREFIX
from config.refusals import RefusedPath

logger = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """A refused request, as it is known when its response is ready.

    Attributes:
        at: seconds since the epoch.
        error: the name of the API error.
        logged_reason, cause: as in the access log.
        key: the valid key, if the request got so far.
        prefix, digest: otherwise, of what was sent as a key: its public part, and its SHA-256.
    """

    at: float
    request_id: str
    status: int
    error: str
    response_text: str
    logged_reason: str
    cause: str
    key: ActiveKey | None
    prefix: str
    digest: str
    address: str
    user_agent: str
    method: str
    path: str


@dataclass(frozen=True, kw_only=True)
class Reason:
    """The true reason, with the key, the workspace and the document that it is about."""

    text: str
    key_id: UUID | None = None
    key_name: str = ""
    key_prefix: str = ""
    workspace_id: UUID | None = None
    workspace_name: str = ""
    document_id: UUID | None = None


def explain(found: Sequence[Refusal]) -> list[Reason]:
    """The reason of each, in this order.

    Raises:
        django.db.Error: the database is out of reach.
    """
    explained = _from_apps(found)
    keys = _Keys(each for each in found if each.key is None and each.digest)
    return [
        replace(_of_key(each.key), text=_text(each), document_id=None)
        if each.key and each.request_id not in explained
        else explained.get(each.request_id) or keys.reason(each)
        for each in found
    ]


def _of_key(key: ActiveKey) -> Reason:
    return Reason(
        text="",
        key_id=key.id,
        key_name=key.name,
        key_prefix=key.prefix,
        workspace_id=key.workspace_id,
        workspace_name=key.workspace_name,
    )


def _from_apps(found: Sequence[Refusal]) -> dict[str, Reason]:
    """The reasons that apps know, by request id."""
    by_error: dict[str, list[Refusal]] = defaultdict(list)
    for each in found:
        by_error[each.error].append(each)
    explained = {}
    for error, alike in by_error.items():
        explain_all = refusals.explain_with(error)
        with_keys = [(refusal, refusal.key) for refusal in alike if refusal.key]
        if explain_all is None or not with_keys:
            continue
        try:
            explanations = explain_all(
                [RefusedPath(refusal.path, key.workspace_id) for refusal, key in with_keys]
            )
        except DatabaseError:
            raise
        except Exception:  # the rows are worth more than their reasons
            logger.exception("No reasons of %s", error)
            continue
        for (refusal, key), explanation in zip(with_keys, explanations, strict=True):
            explained[refusal.request_id] = replace(
                _of_key(key), text=explanation.text, document_id=explanation.document_id
            )
    return explained


def _text(refusal: Refusal) -> str:
    """The reason of a refusal that the request alone explains, without a look at the database."""
    if refusal.status == 429:
        return f"The key had made more than {REQUESTS_PER_MINUTE} requests in its minute."
    if refusal.error == "PlanRequired" and refusal.key:
        return f"The workspace’s plan, {refusal.key.plan}, does not include the API."
    if refusal.error == "WorkspaceSuspended":
        return "The workspace is suspended."
    if refusal.error == "HttpsRequired":
        return "The request was not sent over HTTPS."
    if refusal.status == 503:
        return f"The service was not available ({refusal.cause}): {refusal.logged_reason}"
    if refusal.status == 500:
        return "An unexpected error of the service: the log has it under this request id."
    return refusal.logged_reason or refusal.response_text


class _Keys:
    """What was sent as keys, compared with those that exist or existed.

    Args:
        found: refusals without a valid key, which have sent something like one.
    """

    def __init__(self, found: Iterable[Refusal]) -> None:
        sent = list(found)
        with_owners = ApiKey.objects.select_related("workspace", "revoked_by")
        digests = {each.digest for each in sent}
        self._by_digest = {
            key.digest: key for key in with_owners.filter(digest__in=digests) if digests
        }
        prefixes = {each.prefix for each in sent if each.digest not in self._by_digest} - {""}
        self._by_prefix = {
            key.prefix: key for key in with_owners.filter(prefix__in=prefixes) if prefixes
        }
        self._deleted = _deleted(prefixes - self._by_prefix.keys())

    def reason(self, refusal: Refusal) -> Reason:
        """Why this key was refused; for another status, that reason, and the key."""
        reason = self._of_sent(refusal)
        return reason if refusal.status == 401 else replace(reason, text=_text(refusal))

    def _of_sent(self, refusal: Refusal) -> Reason:
        if not refusal.digest:  # there is no header, or it is of another form
            return Reason(text=_sentence(refusal.logged_reason))
        if key := self._by_digest.get(refusal.digest):
            return _with(key, _state(key))
        if not refusal.prefix:
            text = f"What was sent begins with {PREFIX} but does not have the form of a key."
            return Reason(text=text)
        if key := self._by_prefix.get(refusal.prefix):
            text = (
                f"What was sent begins like the key “{key.name}”, but the rest differs: it was "
                "mistyped."
            )
            return _with(key, text)
        if entry := self._deleted.get(refusal.prefix):
            return Reason(
                text=f"The key “{entry.key_name}” was deleted at "
                f"{entry.created_at:%Y-%m-%d %H:%M:%S} UTC by {entry.person}.",
                key_id=entry.key_id,
                key_name=entry.key_name,
                key_prefix=entry.key_prefix,
                workspace_id=entry.workspace_id,
                workspace_name=entry.workspace_name,
            )
        text = f"No key of this service begins with {refusal.prefix}."
        return Reason(text=text, key_prefix=refusal.prefix)


def _state(key: ApiKey) -> str:
    """Why a key that exists is refused: the only place that says so."""
    if key.revoked_at:
        by = f" by {key.revoked_by.get_username()}" if key.revoked_by else ""
        return f"The key “{key.name}” was revoked at {key.revoked_at:%Y-%m-%d %H:%M:%S} UTC{by}."
    if key.state is State.EXPIRED:
        return f"The key “{key.name}” expired at {key.expires_at:%Y-%m-%d %H:%M:%S} UTC."
    return f"The key “{key.name}” is active now."


def _with(key: ApiKey, text: str) -> Reason:
    return Reason(
        text=text,
        key_id=key.pk,
        key_name=key.name,
        key_prefix=key.prefix,
        workspace_id=key.workspace_id,
        workspace_name=key.workspace.name,
    )


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


# After a key was deleted, at most its downloads in progress still end. Without the limit, all
# entries of the key would be read.
_DELETED = f"""
    SELECT entry.* FROM unnest(%s::text[]) AS sent (prefix), LATERAL (
        SELECT * FROM "audit_auditentry" WHERE key_prefix = sent.prefix
        ORDER BY created_at DESC, id DESC LIMIT 100
    ) AS entry WHERE entry.action = '{Action.KEY_DELETED}'
"""  # noqa: S608 - made of constants


def _deleted(prefixes: set[str]) -> dict[str, AuditEntry]:
    """The entries of deleted keys, by their first characters."""
    if not prefixes:
        return {}
    return {entry.key_prefix: entry for entry in AuditEntry.objects.raw(_DELETED, [list(prefixes)])}
