"""Settings of `make check` for migrations that lock a table for long, or break the last release.

django-migration-linter is installed for development only, so config.settings lacks its app.
"""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS, LOGGING

INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter"]
LOGGING["root"]["level"] = "WARNING"
MIGRATION_LINTER_OPTIONS = {
    "include_apps": ["apikeys", "audit", "documents", "events", "usage", "webhooks", "workspaces"],
    # Indexes on tables that were empty: version 1.0.0 is the first to be installed.
    # A longer text only changes the catalogue, and the last release's code writes shorter ones.
    # The linter does not see that the table of a partial index is new.
    "ignore_name": [
        "0002_history_indexes",
        "0001_webhooks",
        "0002_admin_index",
        "0003_invitations",
        "0005_longer_detail",
    ],
    "sql_analyser": "postgresql",
    "warnings_as_errors": [],  # all
    "no_cache": True,
}
