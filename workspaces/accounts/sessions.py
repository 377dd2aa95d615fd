"""The sessions of the admin, as their users see and end them; the store is SESSION_ENGINE.

Pages name a session by a digest of its key. A session ends if it is not used for a while, and a
working day after the sign-in. Django ends it at the moment that `set_expiry` has stored, which is
moved while the session is used, once a minute at most, so a page seldom writes.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends import db
from django.contrib.sessions.backends.base import SessionBase
from django.db.models import QuerySet, Value
from django.db.models.signals import post_save
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from audit.models import NEWEST_FIRST, Action, AuditEntry, folded
from audit.record import record, stored_client
from workspaces.models import Session, can_sign_in

STORED_EVERY = timedelta(minutes=1)
SIGNED_IN_AT = "signed_in_at"  # of the session: seconds since 1970
# The first that a user agent contains: many contain the names of others too.
BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "Firefox": "", "FxiOS": "Firefox", "CriOS": "Chrome"}
BROWSERS |= {"Chrome": "", "Safari": "", "curl": ""}
SYSTEMS = {"iPhone": "", "iPad": "", "Android": "", "Windows": "", "Mac OS": "macOS"}
SYSTEMS |= {"CrOS": "ChromeOS", "Linux": ""}


class SessionStore(db.SessionStore):
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


@receiver(user_logged_in)
def begin(request: HttpRequest, **kwargs: Any) -> None:
    request.session[SIGNED_IN_AT] = int(timezone.now().timestamp())
    move_end(request.session)


@receiver(post_save, sender=User)
def end_closed(instance: User, **kwargs: Any) -> None:
    """Ends the sessions of a closed account, so that none goes on if it is opened again."""
    if not can_sign_in(instance):
        Session.objects.filter(user=instance).delete()


def move_end(session: SessionBase) -> None:
    now = timezone.now()
    age = now.timestamp() - session[SIGNED_IN_AT]
    left = min(settings.SESSION_COOKIE_AGE - age, settings.SESSION_IDLE_MINUTES * 60)
    end = now + timedelta(seconds=left)
    if abs(end - session.get_expiry_date()) >= STORED_EVERY:
        session.set_expiry(end)


class SessionEndMiddleware(MiddlewareMixin):
    """Moves the end of a signed-in user's session, and names the user in the access log.

    Pages that have not read the session have no user.
    """

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if request.session.accessed and SESSION_KEY in request.session:
            if "Unattended" not in request.headers:  # console.js asks by itself
                move_end(request.session)
            request.notes.user = request.session[SESSION_KEY]  # type: ignore[attr-defined]
        return response


def digest(key: str | None) -> str:
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
    """Ends the user's session with the digest `only`, or all but the one with the key `but`.

    Returns how many.
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
    """The last sign-ins to the account, and the last that failed: none displaces another kind."""
    entries = AuditEntry.objects.exclude(person="").annotate(folded=folded("person"))
    own = entries.filter(folded=folded(Value(user.get_username())))
    found: list[Any] = []
    for action in (Action.LOGIN, Action.LOGIN_FAILED):
        found += own.filter(action=action).order_by(*NEWEST_FIRST)[:10]
    found.sort(key=lambda entry: (entry.created_at, entry.id), reverse=True)
    for each in found:
        each.browser = in_words(each.user_agent)
    return found


def _open(user: User) -> QuerySet[Session]:
    return Session.objects.filter(user=user, expire_date__gt=timezone.now())


def in_words(user_agent: str) -> str:
    """ "Firefox on Windows": words of ours only, since anybody may write anything into it."""
    browser, system = (
        next((name or part for part, name in names.items() if part in user_agent), "")
        for names in (BROWSERS, SYSTEMS)
    )
    return f"{browser or 'Unknown browser'}{system and f' on {system}'}"
