"""Writes audit entries for the signals of `config.admin.signin.signals`, sign-outs, migrations."""

from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_out
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.dispatch import receiver

from audit.models import Action
from audit.record import record
from config.admin.signin import signals
from config.request_context import actor
from config.signals import migrated


@receiver(signals.signed_in)
def record_sign_in(*, login: str, **kwargs: Any) -> None:
    record(Action.LOGIN, by=login)


@receiver(user_logged_out)
def record_sign_out(*, user: User | None, **kwargs: Any) -> None:
    if user is not None:
        record(Action.LOGOUT, by=user.get_username())


@receiver(signals.sign_in_failed)
def record_failed_sign_in(*, login: str, detail: str = "", **kwargs: Any) -> None:
    record(Action.LOGIN_FAILED, by=login, detail=detail)


@receiver(signals.password_confirmed)
def record_confirmed_password(*, login: str, **kwargs: Any) -> None:
    record(Action.PASSWORD_CONFIRMED, by=login)


@receiver(signals.password_refused)
def record_refused_password(*, login: str, detail: str = "", **kwargs: Any) -> None:
    record(Action.PASSWORD_REFUSED, by=login, detail=detail)


@receiver(signals.password_reset_requested)
def record_reset_request(*, login: str, **kwargs: Any) -> None:
    record(Action.PASSWORD_RESET_REQUESTED, member=login)


@receiver(signals.second_factor_added)
def record_second_factor(*, login: str, by: str, **kwargs: Any) -> None:
    record(Action.SECOND_FACTOR_ADDED, by=by, member=login)


@receiver(signals.second_factor_removed)
def record_second_factor_removed(*, login: str, by: str, **kwargs: Any) -> None:
    record(Action.SECOND_FACTOR_REMOVED, by=by, member=login)


@receiver(signals.recovery_codes_made)
def record_recovery_codes(*, login: str, by: str, **kwargs: Any) -> None:
    record(Action.RECOVERY_CODES_MADE, by=by, member=login)


@receiver(signals.recovery_code_used)
def record_used_recovery_code(*, login: str, **kwargs: Any) -> None:
    record(Action.RECOVERY_CODE_USED, by=login)


@receiver(migrated)
def record_migrations(*, names: list[str], **kwargs: Any) -> None:
    loader = MigrationLoader(connection)
    if set(loader.graph.leaf_nodes("audit")) <= loader.applied_migrations.keys():  # else no table
        record(Action.COMMAND_RUN, by=actor(), detail=f"Migrations: {', '.join(names)}")
