"""What stops or works again if a workspace changes."""

from copy import copy
from typing import Any

from django.db.models import F
from django.template.defaultfilters import pluralize
from django.utils.html import format_html, format_html_join

from config.console.formatting import ago_with_exact
from workspaces.api_access import access_warning
from workspaces.mails import queue
from workspaces.models import Membership, Workspace

NAMED = 10  # keys
COUNTED = 1000  # deliveries


def consequences(workspace: Workspace, **changed: Any) -> list[str]:
    """The effects of a change of these fields of the workspace."""
    after = copy(workspace)
    for name, value in changed.items():
        setattr(after, name, value)
    works_before, works_after = (not access_warning(each) for each in (workspace, after))
    if works_before != works_after:
        return [*_of_keys(workspace, works_after), _of_webhooks(workspace, works_after)]
    if works_after:
        return ["Its keys keep working."]
    return ["Its keys do not work now, and will not work afterwards either."]


def _of_keys(workspace: Workspace, works: bool) -> list[str]:
    count = workspace.keys.active().count()
    if not count:
        return ["It has no active keys."]
    verb, end = ("work", "again from the next request on") if works else ("stop", "now")
    text = f"1 active key {verb}s {end}." if count == 1 else f"{count:,} active keys {verb} {end}."
    newest = workspace.keys.active().order_by(F("last_used_at").desc(nulls_last=True), "name")
    times = ((each.name, each.last_used_at) for each in newest[:NAMED])
    named = ((name, ago_with_exact(time) if time else "never") for name, time in times)
    used = format_html_join(", ", "“{}” {}", named)
    others = f", and {count - NAMED:,} more" if count > NAMED else ""
    return [text, format_html("Last used: {}{}.", used, others)]


def _of_webhooks(workspace: Workspace, works: bool) -> str:
    endpoints = workspace.endpoints.existing()
    on = endpoints.filter(enabled=True).count()
    waiting = endpoints.filter(deliveries__state="PENDING").values("deliveries")[:COUNTED].count()
    verb = "are sent again" if works else "wait"
    more = " or more" if waiting == COUNTED else ""
    return (
        f"{on:,} webhook{pluralize(on, ' is,s are')} on: deliveries {verb} from now on. Deliveries "
        f"that wait at present: {waiting:,}{more}."
    )


def admins_of(workspace: Workspace) -> str:
    """Who is concerned, and told, in a sentence."""
    admins = Membership.objects.admins().filter(workspace=workspace).select_related("user")
    logins = ", ".join(sorted(str(each.user) for each in admins))
    if not logins:
        return "It has no admin who can sign in."
    told = ", who get an e-mail unless they have chosen not to" if queue.available() else ""
    return f"Its admins: {logins}{told}."
