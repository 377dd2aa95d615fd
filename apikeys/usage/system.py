"""Responses with 503, for the page System of operators (`config.system`)."""

from datetime import timedelta

from django.db.models import Count, F, Sum
from django.utils import timezone

from apikeys.usage.models import RefusedRequest
from apikeys.usage.reasons import unavailable
from config.system import Fact

REASONS_SHOWN = 10


def read_unavailable() -> list[Fact]:
    """Those of all processes in the last 24 hours, by their reason, the most frequent first."""
    rows = RefusedRequest.objects.filter(
        status=503, created_at__gt=timezone.now() - timedelta(hours=24)
    ).order_by()
    counted = rows.values("cause", "reason").annotate(all=Count("pk") + Sum(F("more")))
    facts = [
        Fact(unavailable(row["cause"], row["reason"]), f"{row['all']:,}", "warn")
        for row in counted.order_by("-all", "reason")[:REASONS_SHOWN]
    ]
    return facts or [Fact("For any reason", "none", "ok")]
