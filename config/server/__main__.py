"""`python -m config.server --port 8001`: one instance of the service."""

import os
import sys
from argparse import ArgumentParser

import django


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    parser = ArgumentParser(prog="python -m config.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", required=True, help="the port to listen on")
    parser.add_argument(
        "--metrics-port", type=int, default=0, help="the port of /metrics (no metrics if absent)"
    )
    options = parser.parse_args()
    django.setup()
    from django.conf import settings  # noqa: PLC0415 - after setup

    from config.server.supervisor import Supervisor, usable_port  # noqa: PLC0415

    try:
        port = usable_port(options.host, options.port)
    except ValueError as exc:
        sys.exit(str(exc))
    Supervisor(
        options.host,
        port,
        threads=settings.SERVER_THREADS,
        grace=settings.GRACE_SECONDS,
        metrics_port=options.metrics_port,
    ).run()


if __name__ == "__main__":
    main()
