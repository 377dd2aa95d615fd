"""The console's pages of keys."""

from apikeys.admin import section

__all__ = ["section"]
