from django.db import models


class Plan(models.TextChoices):
    """The plans on offer. A workspace may have one that is no longer offered."""

    FREE = "FREE", "Free"
    PERSONAL = "PERSONAL", "Personal"
    PRO = "PRO", "Pro"
    BUSINESS = "BUSINESS", "Business"


WITH_API = (Plan.BUSINESS, Plan.PRO)
