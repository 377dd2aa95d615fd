"""What it was measured on: machine, versions, commit."""

import os
import platform
import subprocess
from importlib.metadata import version
from pathlib import Path

import psutil
import redis

from bench.launch import ROOT
from bench.stack import Stack

PACKAGES = ("django", "djangorestframework", "psycopg", "msgspec", "granian")
PEERS = ("gunicorn", "fastapi", "pydantic", "asyncpg", "uvicorn", "uvloop", "httptools")


def _git(*words: str) -> str:
    command = ["git", *words]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)  # noqa: S603, S607
    return done.stdout.strip()


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "model name":
            return value.strip()
    return platform.machine()


def commit() -> str:
    """The commit that was measured; whether the tree had changes besides."""
    found = _git("rev-parse", "--short=12", "HEAD") or "unknown"
    # What the benchmark writes itself is no change of what it measured.
    changes = _git("status", "--porcelain", "--", ".", ":!docs/performance.*")
    return f"{found} with changes" if changes else found


def _versions(packages: tuple[str, ...]) -> str:
    return ", ".join(f"{package} {version(package)}" for package in packages)


def described(stack: Stack) -> list[str]:
    """Lines of a list."""
    memory = psutil.virtual_memory().total / 2**30
    with stack.connect("postgres") as connection:
        postgres = connection.info.parameter_status("server_version")
    with redis.Redis.from_url(os.environ["REDIS_URL"]) as counter:
        redis_version = counter.info("server")["redis_version"]
    return [
        f"- Machine: {_processor()}, {os.cpu_count()} cores, {memory:.0f} GiB, "
        f"Linux {platform.release().split('-')[0]}. Servers, database and client share it.",
        f"- Python {platform.python_version()}, PostgreSQL {postgres}, Redis {redis_version}",
        f"- This service: {_versions(PACKAGES)}",
        f"- Peers: {_versions(PEERS)}",
    ]
