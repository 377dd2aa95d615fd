"""`python -m config.dev`: make run; with a COMMAND of manage.py, that one beside the services."""

import os
import signal
import sys

import manage
from audit.sealing import laptop
from config import env
from config.dev import services

# What a laptop has unless its user says otherwise. One process counts the requests.
VARIABLES = {
    "REDIS_URL": "memory://",
    "HTTPS_ONLY": "no",
    "EMAIL_URL": "mailbox://localhost",
    "SUPPORT_EMAIL": "help@documents.example",
    "SECOND_FACTOR": "nobody",
    "WEBHOOK_TARGETS": "any",
}
PORT = os.environ.get("PORT") or "8000"
if PORT.isascii() and PORT.isdigit() and int(PORT) <= 65535:  # `run` refuses any other
    VARIABLES["BASE_URL"] = f"http://{services.HOST}:{PORT}"


def main() -> None:
    services.die_with_parent(signal.SIGTERM)  # such as make
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup sets it
            signal.signal(number, signal.default_int_handler)
    for name, value in VARIABLES.items():
        os.environ.setdefault(name, value)
    folder = env.data_dir()
    try:
        services.provide(folder)
        laptop.provide(os.environ, folder)
    except (OSError, RuntimeError) as exc:
        text = f"The data folder {folder} cannot be used: {' '.join(str(exc).split())}."
        sys.exit(f"{text} Another one: make run PORT=8001 DATA_DIR=/path/to/folder")
    sys.argv[1:] = sys.argv[1:] or ["run"]
    manage.main()


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        print("\nStopping …")  # noqa: T201 - with status 0, make adds no line
