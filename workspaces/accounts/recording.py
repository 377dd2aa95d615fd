"""Records changes of accounts, made in a page, by a command or in a shell, and sign-outs.

Of changes by `QuerySet.update` or `bulk_create`, which send no signals, nothing is recorded.
"""

from collections.abc import Iterable
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.db.models import Model
from django.db.models.signals import m2m_changed, post_delete, pre_save

from audit.models import Action
from audit.record import record
from config.request_context import actor

# In this order in an entry, so that the end, which is cut off if it is too long, matters least.
FIELDS = ("is_superuser", "is_staff", "is_active", "username", "email", "first_name", "last_name")
RIGHTS = FIELDS[:3]
NOT_CONFIRMED = "e-mail address not confirmed"  # nobody has shown to read it


def record_changes() -> None:
    """Connects the receivers, and makes a change of an account and its entry one transaction."""
    # Django sends pre_save outside of a transaction.
    User.save = transaction.atomic(savepoint=False)(User.save)  # type: ignore[method-assign]
    pre_save.connect(record_save, User)
    post_delete.connect(record_deletion, User)
    links = {"group": User.groups.through, "permission": User.user_permissions.through}
    for target, through in links.items():
        m2m_changed.connect(partial(record_links, target=target), through, weak=False)
    user_logged_out.connect(record_sign_out)


def record_sign_out(*, user: User | None, **kwargs: Any) -> None:
    if user is not None:
        record(Action.LOGOUT, by=user.get_username())


def record_save(*, instance: User, update_fields: Iterable[str] | None, **kwargs: Any) -> None:
    """Records a new account, or what differs from the stored one."""
    saved = frozenset(update_fields or (*FIELDS, "password"))
    # Signing in may save a new hash of the same password.
    is_new_hash_only = saved == {"password"} and instance._password is None  # type: ignore[attr-defined]
    if is_new_hash_only or saved.isdisjoint((*FIELDS, "password")):
        return
    before = User.objects.select_for_update().filter(pk=instance.pk).first()
    if before is None:
        rights = _differences(User(), instance, RIGHTS)
        confirmed = hasattr(instance, "confirmed_address")
        detail = "; ".join(filter(None, [rights, "" if confirmed else NOT_CONFIRMED]))
        record(Action.ACCOUNT_CREATED, by=actor(), member=instance.username, detail=detail)
        return
    # The login as it was: the account's earlier entries have it too.
    who: Any = {"member": before.username, "by": actor()}
    if detail := _differences(before, instance, [name for name in FIELDS if name in saved]):
        record(Action.ACCOUNT_CHANGED, **who, detail=detail)
    if "password" in saved and before.password != instance.password:
        record(Action.PASSWORD_CHANGED, **who)


def record_deletion(*, instance: User, **kwargs: Any) -> None:
    record(Action.ACCOUNT_DELETED, by=actor(), member=instance.username)


def record_links(
    *,
    target: str,
    sender: type[Model],
    instance: Model,
    action: str,
    reverse: bool,
    pk_set: set[int] | None,
    **kwargs: Any,
) -> None:
    """Records that accounts are put into groups or given permissions, or the opposite.

    Args:
        target: "group" or "permission".
        sender: the model of the links.
        instance: an account, or a group or permission if `reverse` is set.
        pk_set: the ids on the other side; None for all that are linked.
    """
    sign = {"post_add": "+", "pre_remove": "−", "pre_clear": "−"}.get(action)
    if sign is None:
        return
    this, other = (target, "user") if reverse else ("user", target)
    links: Any = sender._default_manager.filter(**{this: instance}).select_related("user", target)
    if pk_set is not None:
        links = links.filter(**{f"{other}__in": pk_set})
    for link in links.order_by("user__username", f"{target}__name"):
        detail = f"{target}s: {sign}{getattr(link, target)}"
        record(Action.ACCOUNT_CHANGED, by=actor(), member=link.user.username, detail=detail)


def _differences(before: User, after: User, names: Iterable[str]) -> str:
    """The fields that differ, as "superuser status: no → yes; active: yes → no"."""
    parts = []
    for name in names:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            field: Any = User._meta.get_field(name)
            parts.append(f"{field.verbose_name}: {_text(old)} → {_text(new)}")
    return "; ".join(parts)


def _text(value: str | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value
