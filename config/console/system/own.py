"""The facts that are no app's: the process, versions, migrations, and the checks of `/readyz`."""

import os
import platform
import socket
from datetime import UTC, datetime
from difflib import get_close_matches

import django
from django.core.checks import run_checks
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from config import env, version
from config.console.system import Fact, database, machine, redis, register, time_or
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
    number = connection.cursor().connection.info.server_version  # 180001: 18.1
    return [
        Fact("This service", f"{version.number()}, commit {version.commit()}"),
        Fact("Release", version.RELEASE.name),
        Fact("Python", platform.python_version()),
        Fact("Django", django.get_version()),
        Fact("PostgreSQL", f"{number // 10_000}.{number % 10_000}"),
    ]


def read_migrations() -> list[Fact]:
    missing = migrations.unapplied()
    applied = len(MigrationRecorder(connection).applied_migrations())
    return [
        Fact("Applied", f"{applied:,}"),
        Fact(
            "Pending",
            ", ".join(missing) or "none",
            "bad" if missing else "ok",
            "Run: deploy/manage migrate",
        ),
    ]


def read_variables() -> list[Fact]:
    """What `check --deploy` finds, and names that resemble a variable's."""
    levels = {True: "bad", False: "warn"}
    found = [
        Fact(message.id or "check", message.msg, levels[message.is_serious()], message.hint or "")
        for message in run_checks(include_deployment_checks=True)
        if not message.is_silenced()
    ]
    for name in sorted(os.environ.keys() - env.VARIABLES.keys()):
        for like in get_close_matches(name, env.VARIABLES, 1, 0.85):
            found.append(Fact(name, "is no variable of the service", "warn", f"Perhaps: {like}"))
    return found or [Fact("check --deploy", "finds nothing", "ok")]


def read_checks() -> list[Fact]:
    """The parts that this process needs, within the deadline that all checks share."""
    return [
        Fact(
            name.replace("_", " ").capitalize(),
            f"{check.milliseconds:.1f} ms" if check.state == "ok" else health.cause(name),
            "ok" if check.state == "ok" else "bad",
        )
        for name, check in health.readiness().checks.items()
    ]


def register_own() -> None:
    """Registers them, before those of the apps."""
    register("This process", read_process, only="page")
    register("Versions", read_versions)
    register("Variables", read_variables, only="doctor")
    unreachable = "Check DATABASE_URL, and that PostgreSQL runs"
    register("Database", database.read_database, brief=False, remedy=unreachable)
    register("Locks and transactions", database.read_locks)
    register("Migrations", read_migrations)
    register("Redis", redis.read_redis, brief=False, remedy="Check REDIS_URL, and that Redis runs")
    register("Disk", machine.read_disks, only="page")
    register("Housekeeping", database.read_housekeeping, brief=False)
    # What it says, the doctor's other parts explain.
    register("What this process needs", read_checks, only="page")
