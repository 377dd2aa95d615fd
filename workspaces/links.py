"""The URLs of a workspace's pages."""

from django.urls import reverse

from workspaces.models import Workspace


def page_url(workspace: Workspace) -> str:
    """The workspace's page in the admin."""
    return reverse("admin:workspaces_workspace_change", args=[workspace.pk])
