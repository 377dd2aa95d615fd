"""The admin's pages of workspaces and accounts."""

from workspaces.admin import accounts, workspaces

__all__ = ["accounts", "workspaces"]
