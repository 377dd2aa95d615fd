"""Whether a workspace may use the API: suspension first (403), then the plan (402)."""

from typing import Any, cast

from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from config.api.active_key import ActiveKey
from config.api.errors import PlanRequired, WorkspaceSuspended
from workspaces.models import Workspace
from workspaces.plans import WITH_API, Plan


def check_api_access(workspace: Workspace | ActiveKey) -> None:
    """Raises WorkspaceSuspended or PlanRequired if keys of the workspace do not work."""
    if workspace.suspended:
        raise WorkspaceSuspended
    if workspace.plan not in WITH_API:
        # Nothing is offered to a workspace with a plan that is not offered any more.
        raise PlanRequired(upgrade=Plan.PRO.label if workspace.plan in Plan.values else None)


# What check_api_access allows, as SQL; the workspace's row is `workspace`.
_PLANS = ", ".join(f"'{plan.value}'" for plan in WITH_API)
HAS_API_ACCESS = f"(NOT workspace.suspended AND workspace.plan IN ({_PLANS}))"


def access_warning(workspace: Workspace, effect: str = "its keys are refused") -> str:
    """Why the workspace may not use the API, and the effect of that; "" if it may."""
    try:
        check_api_access(workspace)
    except WorkspaceSuspended:
        plan = "" if workspace.plan in WITH_API else " Its plan does not include the API either."
        return f"{workspace} is suspended: {effect} until it is reinstated.{plan}"
    except PlanRequired:
        return (
            f"{workspace}'s plan does not include the API: {effect} until the workspace moves to "
            "Pro or Business."
        )
    return ""


class WorkspaceMayUseApi(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        check_api_access(cast(ActiveKey, request.auth))
        return True
