"""The console's pages of workspaces and accounts."""

from workspaces.admin import accounts, section  # noqa: F401 - registers them
