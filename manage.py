#!/usr/bin/env python
"""Django's command line. While `make run` runs, it uses the same services."""

import os
import sys

from config import env, systemd


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ["ROLE"] = "all"  # commands need all apps, also in the container of the API
    command = sys.argv[1:2]
    if command == ["deliver_webhooks"] or "--follow" in sys.argv:
        systemd.start()
        # Nobody watches these, so no lock may stop them for ever.
        os.environ.setdefault("PGOPTIONS", "-c statement_timeout=60s -c lock_timeout=10s")
    elif command != ["check"]:  # `check` has the time-outs of its role
        os.environ.setdefault("PGOPTIONS", "-c statement_timeout=0 -c lock_timeout=0")
    env.read_file()

    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db import OperationalError

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as exc:
        sys.exit(str(exc))
    except OperationalError as exc:
        sys.exit(next((f"{each.name} is not set." for each in env.missing()), str(exc)))


if __name__ == "__main__":
    main()
