"""The console's pages of workspaces and accounts."""

from workspaces.admin import accounts, section

__all__ = ["accounts", "section"]
