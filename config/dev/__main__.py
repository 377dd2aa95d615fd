"""`python -m config.dev COMMAND`: a command of manage.py; the services run as long as it does."""

import os
import sys

from config import dev


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    os.environ.setdefault("REDIS_URL", "memory://")  # it is one process that counts requests
    on_laptop = not os.environ.get("SECRET_KEY")

    from audit.sealing import laptop

    folder = dev.data_dir(os.environ)
    try:
        dev.provide(os.environ, folder)
        if on_laptop:
            laptop.provide(os.environ, folder)
    except dev.StackError as exc:
        sys.exit(str(exc))

    from django.core.management import execute_from_command_line

    execute_from_command_line(["manage.py", *sys.argv[1:]])


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        sys.exit(130)  # the shell's convention
