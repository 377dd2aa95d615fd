"""The services there are, by name."""

from config.embedded.postgres import Postgres
from config.embedded.redis import Redis
from config.embedded.s3 import S3
from config.embedded.service import Service

SERVICES: dict[str, type[Service]] = {s.name: s for s in (Postgres, S3, Redis)}
