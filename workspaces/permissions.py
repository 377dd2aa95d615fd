"""Permissions in the admin; checked again for every request.

Django's own permissions are for reading only (`audit.scope`): a superuser has all of them, but may
not see keys.
"""

from django.contrib.auth.models import User

from workspaces.models import Workspace, can_sign_in

SUPPORT = "Support"  # the group of the support staff; `documents.apps` creates it


def may_manage_members(user: User, workspace: Workspace) -> bool:
    return is_operator(user) or Workspace.objects.administered_by(user).contains(workspace)


def is_operator(user: User) -> bool:
    return can_sign_in(user) and user.is_superuser
