"""What pages of accounts show of the second factor."""

from typing import Any

from django import template
from django.contrib.auth.models import User

from workspaces.accounts import second_factor

register = template.Library()


@register.inclusion_tag("admin/security/of_account.html")
def second_factor_of(account: User) -> dict[str, Any]:
    """For operators: a button that removes the account's second factor, if it has one."""
    return {"account": account, "has_app": second_factor.app_of(account) is not None}
