"""How a server process starts: with valid variables and a migrated database, or not at all."""

import os
import sys
from shlex import quote

import django
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connections
from django.db.backends.signals import connection_created


def setup() -> None:
    """Sets up Django, with limits for the statements of all connections.

    Ends the process with one line if a variable is missing, not valid or unsafe, or if the
    database lacks migrations. A database that is out of reach may come back.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    try:
        django.setup()
    except ImproperlyConfigured as exc:
        sys.exit(str(exc))
    from config.checks import environment_errors  # noqa: PLC0415
    from config.runtime import static_files  # noqa: PLC0415
    from config.runtime.database import limit_statements  # noqa: PLC0415
    from config.runtime.postgresql import migrations  # noqa: PLC0415 - after setup

    if errors := environment_errors():
        sys.exit(f"{errors[0].msg} {errors[0].hint}")
    if not static_files.are_collected():
        # manage.py would need all variables.
        command = f"{quote(sys.executable)} -m django collectstatic --no-input"
        variables = (
            f"DJANGO_SETTINGS_MODULE=config.settings STATIC_ROOT={quote(settings.STATIC_ROOT)}"
        )
        sys.exit(
            f"{settings.STATIC_ROOT} has no static files. "
            f"Run: cd {quote(str(settings.BASE_DIR))} && {variables} {command}"
        )
    connection_created.connect(limit_statements)
    migrations.require()
    connections.close_all()  # of this thread, which serves no request
