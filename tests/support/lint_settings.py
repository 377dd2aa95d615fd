"""Settings of `make check` for migrations that lock a table for long, or break the last release.

django-migration-linter is installed for development only, so config.settings lacks its app.
"""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS, LOGGING

INSTALLED_APPS = [*INSTALLED_APPS, "django_migration_linter"]
LOGGING["root"]["level"] = "WARNING"
MIGRATION_LINTER_OPTIONS = {
    "include_apps": ["apikeys", "audit", "documents", "events", "usage", "webhooks", "workspaces"],
    # Those of the first release: nothing goes back to before it.
    "ignore_name": ["0001_initial", "0001_privileges"],
    "sql_analyser": "postgresql",
    "warnings_as_errors": [],  # all
    "no_cache": True,
}
