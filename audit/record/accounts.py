"""Signing in, and accounts."""

from audit.models import Action
from audit.record.writing import write
from config.logs import redact

NOT_CONFIRMED = "e-mail address not confirmed"  # nobody has shown to read it


def logged_in(*, person: str) -> None:
    """A user signed in to the admin."""
    write(Action.LOGIN, person=person)


def logged_out(*, person: str) -> None:
    """A user signed out of the admin."""
    write(Action.LOGOUT, person=person)


def login_failed(*, person: str, detail: str) -> None:
    """A sign-in to the admin as `person` failed, as `detail` says; the account may not exist."""
    write(Action.LOGIN_FAILED, person=redact(person)[:254], detail=detail)


def account_created(*, member: str, person: str, detail: str, confirmed: bool) -> None:
    """Somebody created the account `member`; `detail` has its rights.

    Args:
        confirmed: whether its user has shown to read the e-mails of its address.
    """
    parts = [detail, "" if confirmed else NOT_CONFIRMED]
    write(
        Action.ACCOUNT_CREATED, member=member, person=person, detail="; ".join(filter(None, parts))
    )


def account_changed(*, member: str, person: str, detail: str) -> None:
    """Somebody changed the account `member`, its groups or permissions, as `detail` says."""
    write(Action.ACCOUNT_CHANGED, member=member, person=person, detail=detail)


def account_deleted(*, member: str, person: str) -> None:
    """Somebody deleted the account `member`."""
    write(Action.ACCOUNT_DELETED, member=member, person=person)


def password_changed(*, member: str, person: str) -> None:
    """Somebody changed or reset the password of the account `member`, perhaps its own user."""
    write(Action.PASSWORD_CHANGED, member=member, person=person)


def password_confirmed(*, person: str) -> None:
    """A signed-in user entered the password again, before something sensitive."""
    write(Action.PASSWORD_CONFIRMED, person=person)


def password_refused(*, person: str, detail: str) -> None:
    """A signed-in user entered a wrong password, or code, to confirm something or to change it."""
    write(Action.PASSWORD_REFUSED, person=person, detail=detail)


def password_reset_requested(*, member: str) -> None:
    """Somebody asked for a link to set a new password; the account may not exist."""
    write(Action.PASSWORD_RESET_REQUESTED, member=redact(member)[:254])


def address_confirmed(*, member: str, person: str, email: str) -> None:
    """The user of the account `member` used a link that was sent to its e-mail address."""
    write(Action.ADDRESS_CONFIRMED, member=member, person=person, detail=email)


def second_factor_added(*, member: str, person: str) -> None:
    """A user has set up the second factor of the account `member`, or replaced it."""
    write(Action.SECOND_FACTOR_ADDED, member=member, person=person)


def second_factor_removed(*, member: str, person: str) -> None:
    """A user removed the second factor of the account `member`, perhaps another user's."""
    write(Action.SECOND_FACTOR_REMOVED, member=member, person=person)


def recovery_codes_made(*, member: str, person: str) -> None:
    """The account `member` has new recovery codes; the former ones no longer work."""
    write(Action.RECOVERY_CODES_MADE, member=member, person=person)


def recovery_code_used(*, person: str) -> None:
    """A user signed in with a recovery code."""
    write(Action.RECOVERY_CODE_USED, person=person)
