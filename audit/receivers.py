"""Writes an audit entry for each signal of `config.admin.login`."""

from typing import Any

from django.dispatch import receiver

from audit import record
from config.admin.login import sign_in_failed, signed_in


@receiver(signed_in)
def record_sign_in(*, login: str, **kwargs: Any) -> None:
    record.logged_in(person=login)


@receiver(sign_in_failed)
def record_failed_sign_in(*, login: str, **kwargs: Any) -> None:
    record.login_failed(person=login)
