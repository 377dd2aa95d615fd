#!/usr/bin/env python
"""Django's command line. Starts the services whose variables are not set (`config.dev`)."""

import os
import sys


def main() -> None:
    if sys.version_info < (3, 11):  # noqa: UP036 - the reader of this line has an older one
        sys.exit(f"Python 3.11 or newer is needed; this is {sys.version.split()[0]}.")
    if sys.argv[1:] in (["version"], ["--version"]):  # Django would print its own
        from config import version

        sys.stdout.write(f"{version.line()}\n")
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    on_laptop = not os.environ.get("SECRET_KEY")
    # In production, `doctor` names the variables that are missing.
    if on_laptop or sys.argv[1:2] != ["doctor"]:
        provide(on_laptop)

    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    try:
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as exc:
        sys.exit(str(exc))


def provide(on_laptop: bool) -> None:
    """Starts what has no variable."""
    # Counting in memory is enough: `run` is one process, and no other command counts requests.
    os.environ["REDIS_URL"] = os.environ.get("REDIS_URL") or "memory://"

    from audit.sealing import laptop
    from config import dev as embedded

    folder = embedded.data_dir(os.environ)
    try:
        embedded.provide(os.environ, folder)
        if on_laptop:
            laptop.provide(os.environ, folder)
    except embedded.StackError as exc:
        sys.exit(str(exc))


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        sys.exit(130)  # the shell's convention
