"""`python -m config.dev COMMAND`: a command of manage.py; the services run as long as it does."""

import os
import signal
import sys

import manage
from config import dev
from config.dev.services import die_with_parent


def main() -> None:
    die_with_parent(signal.SIGTERM)  # such as make
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

    if sys.argv[1:2] == ["migrate"]:
        os.environ["DATABASE_URL"] = os.environ["DATABASE_OWNER_URL"]
    manage.main()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.stderr.write("\nStopped.\n")
        sys.exit(130)  # the shell's convention
