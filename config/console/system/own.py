"""The facts that are no app's: the process, versions, migrations, and the checks of `/readyz`."""

import os
import platform
import socket
import tomllib
from datetime import UTC, datetime

import django
from django.conf import settings
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from config.console.system import Fact, register, time_or
from config.runtime import health
from config.runtime.postgresql import migrations

STARTED = datetime.now(UTC)


def read_process() -> list[Fact]:
    """Which process responds: each instance has one, and nginx chooses among them."""
    return [
        Fact("Machine", socket.gethostname()),
        Fact("Process", str(os.getpid())),
        Fact("Started", time_or(STARTED, "")),
    ]


def read_versions() -> list[Fact]:
    project = tomllib.loads((settings.BASE_DIR / "pyproject.toml").read_text())["project"]
    number = connection.cursor().connection.info.server_version  # 180001: 18.1
    return [
        Fact("This service", project["version"]),
        Fact("Release", settings.BASE_DIR.name),
        Fact("Python", platform.python_version()),
        Fact("Django", django.get_version()),
        Fact("PostgreSQL", f"{number // 10_000}.{number % 10_000}"),
    ]


def read_migrations() -> list[Fact]:
    missing = migrations.unapplied()
    applied = MigrationRecorder(connection).migration_qs.count()
    return [
        Fact("Applied", f"{applied:,}"),
        Fact("Pending", ", ".join(missing) or "none", "bad" if missing else "ok"),
    ]


def read_checks() -> list[Fact]:
    """The parts that this process needs, within the deadline that all checks share."""
    return [
        Fact(
            name.replace("_", " ").capitalize(),
            f"{check.milliseconds:.1f} ms" if check.state == "ok" else check.state,
            "ok" if check.state == "ok" else "bad",
        )
        for name, check in health.readiness().checks.items()
    ]


def register_own() -> None:
    """Registers them, before those of the apps."""
    register("This process", read_process)
    register("Versions", read_versions)
    register("Migrations", read_migrations)
    register("What this process needs", read_checks)
