"""The second factor: an app that makes codes (TOTP), and recovery codes (django-otp)."""

import math
import re

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django_otp.models import Device
from django_otp.plugins.otp_static.models import StaticDevice
from django_otp.plugins.otp_totp.models import TOTPDevice

from audit.models import Action
from audit.record import record
from workspaces import mails
from workspaces.accounts import recovery_codes
from workspaces.accounts.throttle import Attempt, too_many


def is_required(user: User) -> bool:
    """Whether the user cannot sign in without a second factor.

    SECOND_FACTOR is "admins" (all who may sign in), "operators" (superusers) or "nobody".
    """
    if settings.SECOND_FACTOR == "operators":
        return user.is_superuser
    return settings.SECOND_FACTOR == "admins"


def is_satisfied(user: User | AnonymousUser) -> bool:
    """Whether this session's user needs no second factor, or has used one.

    `django_otp.middleware.OTPMiddleware` reads that from the session and the database, so a
    session ends when its factor is removed, or when its user becomes an operator.
    """
    if not user.is_authenticated or getattr(user, "otp_device", None) is not None:
        return True
    return not is_required(user)


def app_of(user: User, *, confirmed: bool = True) -> TOTPDevice | None:
    """The user's app; not confirmed, the one that is being set up."""
    found: TOTPDevice | None = TOTPDevice.objects.devices_for_user(user, confirmed).first()
    return found


@transaction.atomic
def begin_set_up(user: User) -> None:
    """Makes a new secret, which `confirm` will need a code of. The present app stays."""
    TOTPDevice.objects.devices_for_user(user, confirmed=False).delete()
    TOTPDevice.objects.create(user=user, name="app", confirmed=False)


def confirm(user: User, typed: str) -> list[str]:
    """Replaces the user's app by the one that is being set up, and returns new recovery codes.

    Raises ValidationError if the code is wrong, or if too many were.
    """
    login = user.get_username()
    with transaction.atomic():
        if app := _verified(TOTPDevice, user, _plain(typed), confirmed=False):
            # Sessions that used another app, or a recovery code, end if they need a second factor.
            TOTPDevice.objects.devices_for_user(user, confirmed=True).delete()
            StaticDevice.objects.devices_for_user(user).delete()
            app.confirmed = True
            app.save()
            record(Action.SECOND_FACTOR_ADDED, by=login, member=login)
            mails.tell_account(user, Action.SECOND_FACTOR_ADDED.label, by=login)
            return recovery_codes.make(user)
    raise ValidationError("The code is wrong. Is the time on your phone right?")


def verify(user: User, typed: str, *, refused: Action) -> Device:
    """The user's device whose code was typed. A code works once.

    Raises ValidationError if it is wrong, which is recorded as `refused`, or if too many were.
    """
    login = user.get_username()
    with transaction.atomic():
        if re.fullmatch("[0-9]{6}", _plain(typed)):
            device = _verified(TOTPDevice, user, _plain(typed))
        else:
            device = _verified(StaticDevice, user, recovery_codes.stored(typed))
            if device is not None:
                record(Action.RECOVERY_CODE_USED, by=login)
                left = f"Codes left: {recovery_codes.left(user)}"
                mails.tell_account(user, Action.RECOVERY_CODE_USED.label, left, by=login)
    if device is None:
        record(refused, by=login, detail="right password, wrong code")
        raise ValidationError("The code is wrong, or was used before.")
    return device


def _plain(typed: str) -> str:
    """Apps show codes in groups."""
    return re.sub(r"[\s-]", "", typed)


def _verified(
    model: type[Device], user: User, code: str, *, confirmed: bool = True
) -> Device | None:
    """The user's device of this kind if the code is right.

    django-otp doubles a device's waiting time with each wrong code. It locks the device's row, so
    the second request with the same code gets None.
    """
    attempt = Attempt()
    attempt.check()
    with transaction.atomic():
        devices = model.objects.select_for_update().filter(user=user, confirmed=confirmed)
        device: Device | None = devices.first()
        if device is not None:
            allowed, why = device.verify_is_allowed()
            if not allowed:
                left = (why["locked_until"] - timezone.now()).total_seconds()
                raise too_many(max(1, math.ceil(left)))
            if device.verify_token(code):
                return device
    attempt.count()
    return None


@transaction.atomic
def remove(user: User, *, by: str) -> bool:
    TOTPDevice.objects.devices_for_user(user, confirmed=False).delete()
    removed, _ = TOTPDevice.objects.devices_for_user(user, confirmed=True).delete()
    StaticDevice.objects.devices_for_user(user).delete()
    if removed:
        record(Action.SECOND_FACTOR_REMOVED, by=by, member=user.get_username())
        mails.tell_account(user, Action.SECOND_FACTOR_REMOVED.label, by=by)
    return bool(removed)
