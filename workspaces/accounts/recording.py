"""Records changes of accounts that are saved or deleted, and sign-outs.

Changes by `QuerySet.update`, `bulk_create` or of groups are recorded by who makes them.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_out
from django.db import transaction
from django.db.models.signals import post_delete, pre_save
from django.dispatch import receiver

from audit.models import Action
from audit.record import record
from config.request.context import actor
from workspaces import mails

# What an entry says of an account that has it, and that has it no more.
RIGHTS = {
    "is_superuser": ("made an operator", "no operator any more"),
    "is_staff": ("may sign in here", "may not sign in here any more"),
    "is_active": ("activated", "deactivated"),
}
# In this order in an entry, so that the end, which is cut off if it is too long, matters least.
FIELDS = (*RIGHTS, "username", "email", "first_name", "last_name")
NOT_CONFIRMED = "e-mail address not confirmed"  # nobody has shown to read it


# Makes a change of an account and its entry one transaction: Django sends pre_save outside of one.
User.save = transaction.atomic(savepoint=False)(User.save)  # type: ignore[method-assign]


@receiver(user_logged_out)
def record_sign_out(*, user: User | None, **kwargs: Any) -> None:
    if user is not None:
        record(Action.LOGOUT, by=user.get_username())


@receiver(pre_save, sender=User)
def record_save(*, instance: User, update_fields: Iterable[str] | None, **kwargs: Any) -> None:
    saved = frozenset(update_fields or (*FIELDS, "password"))
    # Signing in may save a new hash of the same password.
    is_new_hash_only = saved == {"password"} and instance._password is None  # type: ignore[attr-defined]
    if is_new_hash_only or saved.isdisjoint((*FIELDS, "password")):
        return
    before = User.objects.select_for_update().filter(pk=instance.pk).first()
    if "is_superuser" in saved and instance.is_superuser != (before or User()).is_superuser:
        made = Action.OPERATOR_MADE if instance.is_superuser else Action.OPERATOR_ENDED
        mails.tell_account(instance, made.label, by=actor(), and_operators=True)
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
        mails.tell_account(before, Action.PASSWORD_CHANGED.label, by=actor())


@receiver(post_delete, sender=User)
def record_deletion(*, instance: User, **kwargs: Any) -> None:
    record(Action.ACCOUNT_DELETED, by=actor(), member=instance.username)


def _differences(before: User, after: User, names: Iterable[str]) -> str:
    """What differs: "deactivated; first name changed from Ada to Eva"."""
    parts = []
    for name in names:
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if name in RIGHTS:
            parts.append(RIGHTS[name][not new])
        else:
            field: Any = User._meta.get_field(name)
            parts.append(f"{field.verbose_name} changed from {old or 'none'} to {new or 'none'}")
    return "; ".join(parts)
