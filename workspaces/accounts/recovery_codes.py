"""Recovery codes: each signs in once instead of the app's code. Only their hashes are stored."""

import hashlib
import re
import secrets
from base64 import b32encode
from textwrap import wrap

from django.contrib.auth.models import User
from django.db import transaction
from django_otp.plugins.otp_static.models import StaticDevice, StaticToken

from audit.models import Action
from audit.record import record

CODES = 10
_BYTES = 10  # 80 random bits: a code cannot be guessed, so a fast hash is enough
_STORED_LENGTH = 16  # characters of a StaticToken: 80 bits of the hash


@transaction.atomic
def make(user: User) -> list[str]:
    """New codes; the former ones no longer work. Sessions that used one go on."""
    User.objects.select_for_update().get(pk=user.pk)  # one device, also of two requests at once
    device, _ = StaticDevice.objects.get_or_create(user=user, name="recovery codes")
    device.token_set.all().delete()
    device.throttle_reset()
    random = [b32encode(secrets.token_bytes(_BYTES)).decode().lower() for _ in range(CODES)]
    codes = ["-".join(wrap(each, 4)) for each in random]
    StaticToken.objects.bulk_create(StaticToken(device=device, token=stored(c)) for c in codes)
    record(Action.RECOVERY_CODES_MADE, by=user.get_username(), member=user.get_username())
    return codes


def left(user: User) -> int:
    return int(StaticToken.objects.filter(device__user=user).count())


def stored(typed: str) -> str:
    """What is stored of a code, which users type with or without spaces and dashes."""
    code = re.sub(r"[\s-]", "", typed).lower()
    digest = hashlib.sha256(f"recovery code {code}".encode()).digest()
    return b32encode(digest)[:_STORED_LENGTH].decode().lower()
