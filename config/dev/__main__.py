"""`python -m config.dev`: make run; with a COMMAND of manage.py, that one beside the services."""

import json
import os
import signal
import sys
from pathlib import Path

import manage
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
LOG = "laptop.example/audit"  # the audit log's name


def provide_seals(folder: Path) -> None:
    """Sets the variables of the audit log's key and witness, where nobody has set them up.

    They show how sealing works. They prove nothing to anybody else: the user of a laptop has the
    key, the database and the witness. The data folder keeps the key. With AUDIT_PUBLIC_KEYS set to
    nothing, the laptop does not seal. Raises OSError if the folder cannot be used.
    """
    if os.environ.keys().isdisjoint({"AUDIT_SIGNING_KEY", "AUDIT_PUBLIC_KEYS"}):
        os.environ |= json.loads(services.generated_once(folder / "audit_key.json", audit_key))
    if not os.environ.get("AUDIT_WITNESSES"):
        if "," in str(folder):
            raise OSError("its path has a comma, which a list of witnesses cannot hold")
        os.environ["AUDIT_WITNESSES"] = f"file:{folder / 'checkpoints'}"


def audit_key() -> str:
    from audit.sealing.keys import PrivateKey  # noqa: PLC0415 - the first start only needs it

    key = PrivateKey.generate(LOG)
    return json.dumps({"AUDIT_SIGNING_KEY": key.encode(), "AUDIT_PUBLIC_KEYS": str(key.public)})


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
        provide_seals(folder)
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
