"""The plans, which of them include the API, and which one to move to."""

from django.db import models


class Plan(models.TextChoices):
    """The plans on offer. A workspace may have one that is no longer offered."""

    FREE = "FREE", "Free"
    PERSONAL = "PERSONAL", "Personal"
    PRO = "PRO", "Pro"
    BUSINESS = "BUSINESS", "Business"


WITH_API = frozenset({Plan.PRO, Plan.BUSINESS})
BELOW_PRO = frozenset({Plan.FREE, Plan.PERSONAL})


def includes_api(plan: str) -> bool:
    """Whether keys of a workspace on `plan` work."""
    return plan in WITH_API


def upgrade_from(plan: str) -> str | None:
    """The name of the plan to move to for the API; None if no plan is offered."""
    return Plan.PRO.label if plan in BELOW_PRO else None
