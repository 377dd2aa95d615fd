"""`python -m config.server --port 8001`: one instance of the service."""

import logging
import os
import sys
from argparse import ArgumentParser

from config import env
from config.runtime import startup
from config.runtime.ports import usable_port
from config.server.supervisor import Supervisor

logger = logging.getLogger("config.server")


def main() -> None:
    parser = ArgumentParser(prog="python -m config.server", description=__doc__)
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on")
    parser.add_argument("--port", required=True, help="the port to listen on")
    parser.add_argument("--metrics-port", help="the port of /metrics instead of METRICS_PORT")
    options = parser.parse_args()
    if options.metrics_port:
        os.environ["METRICS_PORT"] = options.metrics_port
    try:
        port = usable_port(options.host, options.port)
    except ValueError as exc:
        sys.exit(str(exc))
    startup.setup()
    for sentence in env.former():
        logger.warning(sentence)
    from django.conf import settings  # noqa: PLC0415 - after setup

    Supervisor(
        options.host,
        port,
        threads=settings.SERVER_THREADS,
        grace=settings.GRACE_SECONDS,
    ).run()


if __name__ == "__main__":
    main()
