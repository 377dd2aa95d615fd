"""The console's pages of keys."""

from apikeys.admin import section  # noqa: F401 - registers them
