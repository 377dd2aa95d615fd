"""The database's facts: what `deploy/roles` and `migrate` set up, and who holds it up."""

from datetime import timedelta
from importlib import import_module

from django.conf import settings
from django.db import connection
from django.utils import timezone

from config.console.system import Fact
from config.runtime.postgresql import roles, sessions
from config.runtime.postgresql.base import SETTINGS

OLDEST = 15  # PostgreSQL's version
# Seconds that a clock may differ. Signatures of object storage allow 15 minutes.
CLOCK_SECONDS, CLOCK_LIMIT = 5, 60
ROLES, MIGRATE = "Run: deploy/roles", "Run: deploy/manage migrate"

_STATE = """
    SELECT extract(epoch FROM clock_timestamp())::float8,
        (SELECT array_agg(setting ORDER BY setdatabase)  -- those of this database come last
        FROM pg_db_role_setting, unnest(setconfig) AS setting
        WHERE setrole = pg_roles.oid AND setdatabase IN (
            0, (SELECT oid FROM pg_database WHERE datname = current_database()))),
        rolsuper,
        pg_has_role('pg_read_all_stats', 'USAGE'),
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
        current_setting('max_connections')::int, current_setting('autovacuum') = 'on',
        (SELECT relowner::regrole::text FROM pg_class
        WHERE oid = to_regclass('audit_auditentry')) = current_user
    FROM pg_roles WHERE rolname = current_user
"""
# By default, autovacuum begins when a fifth of a table is dead rows. This is twice that.
_BLOAT = """
    SELECT relname, n_dead_tup, n_live_tup FROM pg_stat_user_tables
    WHERE n_dead_tup > 10000 + 0.4 * n_live_tup ORDER BY n_dead_tup DESC
"""


def clock_fact(label: str, ahead: float) -> Fact:
    """How far another clock is ahead of this machine's, in seconds."""
    state = "bad" if abs(ahead) > CLOCK_LIMIT else "warn" if abs(ahead) > CLOCK_SECONDS else "ok"
    text = f"{abs(ahead):,.0f} s {'ahead of' if ahead > 0 else 'behind'} this machine's"
    value = "as this machine's" if state == "ok" else text
    return Fact(label, value, state, "Synchronise both: see timedatectl")


def read_database() -> list[Fact]:
    """Version, roles, privileges, connections, dead rows."""
    with connection.cursor() as cursor:
        cursor.execute(_STATE)
        now, config, superuser, sees, used, most, vacuums, owns = cursor.fetchall()[0]
        cursor.execute(_BLOAT)
        bloat = [f"{name}: {dead:,} beside {live:,}" for name, dead, live in cursor.fetchall()]
        number = cursor.connection.info.server_version  # 180001: 18.1
    found = dict(setting.split("=", 1) for setting in config or ())
    lacking = [f"{name}={value}" for name, value in SETTINGS.items() if found.get(name) != value]
    role = roles.serving_role()
    return [
        Fact(
            "Version",
            f"PostgreSQL {number // 10_000}.{number % 10_000}",
            "ok" if number >= OLDEST * 10_000 else "bad",
            f"PostgreSQL {OLDEST} is the oldest that works",
        ),
        Fact(
            "Role that serves",
            f"{role} is a superuser" if superuser else f"{role} owns the tables" if owns else role,
            "bad" if superuser else "warn" if owns else "ok",
            f"Make roles of their own. {ROLES}",
        ),
        Fact(
            "Settings of the role",
            f"{role} lacks {', '.join(lacking)}" if lacking else "JIT off, time-out of a minute",
            "bad" if lacking else "ok",
            ROLES,
        ),
        *([] if owns else [read_privileges()]),
        Fact(
            "Sessions of other roles",
            "can be seen" if sees else "cannot be seen, so nobody says what they hold up",
            "ok" if sees else "warn",
            ROLES,
        ),
        Fact(
            "Connections",
            f"{used} of {most}",
            "warn" if used > 0.9 * most else "ok",
            "See Sizing in docs/reference.md",
        ),
        Fact(
            "Dead rows",
            "; ".join(bloat) or ("few" if vacuums else "autovacuum is off"),
            "ok" if vacuums and not bloat else "warn",
            "Look for autovacuum = off and for long transactions; then: VACUUM (ANALYZE)",
        ),
        clock_fact("Clock", now - timezone.now().timestamp()),
    ]


def read_privileges() -> Fact:
    """Whether the roles may do what `migrate` has granted, and no more."""
    existing = set(connection.introspection.table_names())
    wrong = []
    for role, declared in roles.declared().items():
        granted = roles.granted(role)
        for table in sorted(existing & (declared.keys() | granted.keys())):
            for word, names in (
                ("lacks", declared.get(table, set()) - granted.get(table, set())),
                ("has also", granted.get(table, set()) - declared.get(table, set())),
            ):
                if names:
                    wrong.append(f"{role} {word} {', '.join(sorted(names))} on {table}")
    value = "; ".join(wrong[:5]) + (f" and {len(wrong) - 5} more" if wrong[5:] else "")
    return Fact("Privileges", value or "as granted", "bad" if wrong else "ok", MIGRATE)


def read_locks() -> list[Fact]:
    """Who keeps others from a table, and whose transaction does not end."""
    blocking = sessions.blocking()
    idle = sessions.long_transactions()
    return [
        *(Fact(f"Locked: {each.table}", str(each), "bad", each.remedy) for each in blocking),
        *([] if blocking else [Fact("Locked tables", "none", "ok")]),
        *(
            Fact(
                "Long transaction",
                str(each),
                "bad" if each.state.startswith("idle") else "warn",
                f"Nothing is vacuumed meanwhile. {each.remedy}",
            )
            for each in idle
        ),
        *([] if idle else [Fact("Long transactions", "none", "ok")]),
    ]


def read_housekeeping() -> list[Fact]:
    """Whether it runs: it deletes sessions that have expired every ten minutes."""
    limit = timezone.now() - timedelta(hours=1)
    store = import_module(settings.SESSION_ENGINE).SessionStore
    late = store.get_model_class().objects.filter(expire_date__lt=limit).count()
    return [
        Fact(
            "Sessions that expired over an hour ago",
            f"{late:,} are not deleted" if late else "none",
            "warn" if late else "ok",
            "Look at: systemctl status documents-api-housekeeping.timer",
        )
    ]
