"""Sentences of the pages of keys."""

from typing import Any

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.safestring import SafeString

from config.console.formatting import Bad
from workspaces.api_access import access_warning
from workspaces.models import Workspace


def sentence(name: str, **context: Any) -> SafeString:
    """HTML: a sentence or two, which have a template of their own."""
    context = {"upgrade_url": settings.UPGRADE_URL, "email": settings.SUPPORT_EMAIL, **context}
    return SafeString(render_to_string(f"admin/apikeys/texts/{name}.html", context).strip())


def refusals(workspace: Workspace) -> list[str]:
    """Why the keys of the workspace are refused, if they are."""
    why = access_warning(workspace)
    return [Bad(sentence("refused", why=why, workspace=workspace))] if why else []
