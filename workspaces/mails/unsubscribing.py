"""The link of an e-mail that ends e-mails of its kind, without signing in."""

from collections.abc import Collection

from django.conf import settings
from django.core.signing import BadSignature, dumps, loads
from django.db import transaction
from django.urls import reverse
from django.utils.http import urlencode

from workspaces.mails.models import Choice, Mail

SALT = "unsubscribe"


def url(user_id: int | None, kinds: Collection[str]) -> str:
    """The link; "" for e-mails that nobody can end, or if nothing says where links lead."""
    if user_id is None or not settings.BASE_URL:
        return ""
    token = dumps([user_id, *sorted(kinds)], salt=SALT)
    return f"{settings.BASE_URL}{reverse('admin:mails_off')}?{urlencode({'token': token})}"


def read(token: str) -> tuple[int, list[str]] | None:
    """The user's id and the kinds; None for what is no token."""
    try:
        user_id, *kinds = loads(token, salt=SALT)
    except BadSignature:
        return None
    return user_id, kinds


@transaction.atomic
def choose(user_id: int, modes: dict[str, str]) -> None:
    """Stores a user's choices; those of other kinds stay. What waits and is off now is not sent."""
    Choice.objects.get_or_create(user_id=user_id)
    choice = Choice.objects.select_for_update().get(pk=user_id)
    choice.modes |= modes
    choice.save()
    off = [slug for slug, mode in modes.items() if mode == "off"]
    Mail.objects.filter(user_id=user_id, kind__in=off).delete()
