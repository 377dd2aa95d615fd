"""The sessions of the admin, as their users see and end them; the store is SESSION_ENGINE.

Pages name a session by a digest of its key. The store writes a session when it begins, changes, or
moves its end (`workspaces.accounts.session_end`), which is once a minute at most.
"""

import hashlib
import re
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends import db
from django.db.models import QuerySet, Value
from django.utils import timezone

from audit.models import NEWEST_FIRST, Action, AuditEntry, folded
from audit.record import record, stored_client
from workspaces.accounts.session_end import SIGNED_IN_AT
from workspaces.models import Session

# The first that a user agent contains: many contain the names of others too.
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox": "", "FxiOS": "Firefox", "CriOS": "Chrome"}
BROWSERS |= {"Chrome": "", "Safari": "", "curl": ""}
SYSTEMS = {"iPhone": "", "iPad": "", "Android": "", "Windows": "", "Mac OS": "macOS"}
SYSTEMS |= {"CrOS": "ChromeOS", "Linux": ""}


class SessionStore(db.SessionStore):
    """Django's, with the user and the client beside the data."""

    @classmethod
    def get_model_class(cls) -> type[Session]:
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        session: Any = super().create_model_instance(data)
        session.user_id = data.get(SESSION_KEY)
        session.address, session.user_agent = stored_client()
        if began := data.get(SIGNED_IN_AT):
            session.signed_in_at = datetime.fromtimestamp(began, UTC)
        return session


def digest(key: str | None) -> str:
    """What stands for a session's key on a page."""
    return hashlib.sha256(f"session {key}".encode()).hexdigest()[:32]


def sessions_of(user: User) -> list[Session]:
    """The sessions that the user is signed in with; not those of a former password."""
    hashes = (user.get_session_auth_hash(), *user.get_session_auth_fallback_hash())
    found = []
    for each in _open(user).order_by("-last_seen_at"):
        if each.get_decoded().get(HASH_SESSION_KEY) in hashes:
            each.digest, each.browser = digest(each.session_key), in_words(each.user_agent)  # type: ignore[attr-defined]
            found.append(each)
    return found


def end(user: User, *, by: str, only: str = "", but: str | None = None) -> int:
    """Ends sessions of the user: all, or the one with the digest `only`; how many.

    Args:
        but: the key of the session that stays.
    """
    ended = [
        each.session_key
        for each in _open(user).exclude(session_key=but or "")
        if not only or digest(each.session_key) == only
    ]
    if ended:
        Session.objects.filter(session_key__in=ended).delete()
        record(Action.SESSIONS_ENDED, by=by, member=str(user), detail=f"sessions: {len(ended)}")
    return len(ended)


def sign_ins_of(user: User) -> list[AuditEntry]:
    """The last sign-ins to the account, and the attempts that failed."""
    entries = AuditEntry.objects.exclude(person="").annotate(folded=folded("person"))
    own = entries.filter(folded=folded(Value(user.get_username())))
    own = own.filter(action__in=(Action.LOGIN, Action.LOGIN_FAILED))
    found: list[Any] = list(own.order_by(*NEWEST_FIRST)[:10])
    for each in found:
        each.browser = in_words(each.user_agent)
    return found


def _open(user: User) -> QuerySet[Session]:
    return Session.objects.filter(user=user, expire_date__gt=timezone.now())


def in_words(user_agent: str) -> str:
    """ "Firefox on Windows"; of other programs the first word of the user agent."""
    browser, system = (
        next((name or part for part, name in names.items() if part in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    )
    text = browser or re.split(r"[/\s]", user_agent)[0][:40] or "Unknown browser"
    return f"{text} on {system}" if system else text
