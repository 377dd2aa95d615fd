from django.db import models


class Plan(models.TextChoices):
    """The plans on offer. A workspace may have one that is no longer offered."""

    FREE = "FREE", "Free"
    PERSONAL = "PERSONAL", "Personal"
    PRO = "PRO", "Pro"
    BUSINESS = "BUSINESS", "Business"


def label_of(plan: str) -> str:
    return str(Plan(plan).label) if plan in Plan.values else f"{plan} (no longer offered)"


WITH_API = (Plan.BUSINESS, Plan.PRO)
