"""What pages show of keys and of their use; those of workspaces name no key."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any
from uuid import UUID

from django import template
from django.conf import settings
from django.db.models import Q
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from apikeys.keys import State
from apikeys.models import ApiKey
from apikeys.usage import report
from apikeys.usage.models import KeyUsage
from audit.models import AuditEntry
from audit.scope import scope_of
from config.console.formatting import Bad, ago, urgency
from workspaces.api_access import access_warning
from workspaces.models import Workspace
from workspaces.plans import WITH_API

register = template.Library()
register.filter(report.colour_of)


def sentence(name: str, **context: Any) -> SafeString:
    """HTML: a sentence or two, which have a template of their own."""
    context = {"upgrade_url": settings.UPGRADE_URL, "email": settings.SUPPORT_EMAIL, **context}
    return SafeString(render_to_string(f"admin/apikeys/texts/{name}.html", context).strip())


def refusals(workspace: Workspace) -> list[SafeString]:
    """Why the keys of the workspace are refused, if they are."""
    why = access_warning(workspace)
    return [Bad(sentence("refused", why=why, workspace=workspace))] if why else []


def refused_of(keys: Q, *, own: bool = True) -> list[SafeString]:
    """What is wrong with requests of these keys. Of 402s and 403s, `refusals` says why."""
    looks = report.needs_a_look(keys & ~Q(status__in=(402, 403)), own=own)
    return sorted((why for *_, why in looks), key=urgency)


@register.simple_tag
def usage_of(workspace: Workspace) -> SafeString:
    """HTML: the requests of the last thirty days."""
    rows = KeyUsage.objects.filter(workspace_id=workspace.pk)
    return report.panel(rows, "Requests", workspace_id__exact=workspace.pk)


@register.simple_tag
def with_usage(objects: Sequence[Any], field: str) -> list[tuple[Any, SafeString, KeyUsage]]:
    """Keys or workspaces, each with the chart and the sums of the last thirty days."""
    rows = KeyUsage.objects.filter(**{f"{field}__in": [each.pk for each in objects]})
    days: dict[Any, list[KeyUsage]] = defaultdict(list)
    for day in report.by_day(rows, field):
        days[getattr(day, field)].append(day)
    return [
        (each, report.chart(days[each.pk], small=True), report.total(days[each.pk]))
        for each in objects
    ]


@register.inclusion_tag("admin/apikeys/in_log.html", takes_context=True)
def key_in_log(context: Any, id: UUID) -> dict[str, Any]:
    """The key that a log is narrowed to: its state, and what was refused in a day.

    Of a deleted or a mistyped key, no more than its first characters is known.
    """
    scope = scope_of(context["request"])
    visible = scope.visible()
    keys = ApiKey.objects.filter(visible, pk=id).select_related("workspace", "revoked_by")
    key = keys.first()
    entries = AuditEntry.objects.filter(visible, key_id=id)
    prefix = key.prefix if key else entries.values("key_prefix")[:1]
    rows = report.refused_within(days=1).filter(visible, key_prefix=prefix)
    kinds = report.kinds(rows, "status", "key_prefix", "key_id")
    own = not scope.everything
    warnings = refused_of(visible & Q(key_id=id), own=own) if key else []
    usage = report.total(report.by_day(KeyUsage.objects.filter(visible, key_id=id)))
    return {
        "key": key,
        "own": own,
        "usage": usage,
        "addresses": report.addresses(id)[:3] if key else [],
        "refused": kinds,
        "warnings": warnings,
    }


@register.filter
def successor(key_id: UUID) -> ApiKey | None:
    """The key to which another one was rolled, if it works."""
    rolled = ApiKey.objects.filter(pk=key_id).values("replaced_by")
    return ApiKey.objects.active().filter(pk__in=rolled).first()


@register.filter
def access_at_present(workspace_id: UUID, status: int) -> str:
    """Why no key of the workspace works; "" if what requests had this status for is over."""
    workspace = Workspace.objects.get(pk=workspace_id)
    is_over = workspace.plan in WITH_API if status == 402 else not workspace.suspended
    return "" if is_over else access_warning(workspace)


@register.filter
def refusal(key: ApiKey) -> str:
    """Why a key that has not ended does not work: its workspace has no API access."""
    return "" if key.state.has_ended else access_warning(key.workspace)


@register.simple_tag
def key_states(workspace: Workspace) -> str:
    """How many keys are in which state: "2 active, 1 revoked; last used 3 minutes ago"."""
    keys = list(ApiKey.objects.filter(workspace=workspace))
    if not keys:
        return "none"
    states = Counter(key.state for key in keys)
    counts = ", ".join(f"{states[each]:,} {each.label.lower()}" for each in State if states[each])
    refused = ", refused at present" if access_warning(workspace) else ""
    last = max((key.last_used_at for key in keys if key.last_used_at), default=None)
    return f"{counts}{refused}; {f'last used {ago(last)}' if last else 'never used'}"
