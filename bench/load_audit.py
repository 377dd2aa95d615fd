"""Fills the audit history with plausible entries, to measure what reads it.

    python -m bench.load_audit --rows 2000000

writes to the database of DATABASE_URL (the embedded one when it is not set), which has to be
migrated. Entries are only ever added, so each run adds to what is there.
"""

import argparse
import os
import random
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from config import embedded

COLUMNS = (
    "created_at",
    "action",
    "workspace_id",
    "workspace_name",
    "person",
    "member",
    "detail",
    "key_id",
    "key_name",
    "key_prefix",
    "document_id",
    "document_title",
    "file_type",
    "file_sha256",
    "byte_range",
    "bytes_sent",
    "address",
    "user_agent",
    "request_id",
)
EMPTY: dict[str, Any] = dict.fromkeys(COLUMNS, "") | dict.fromkeys(
    ("workspace_id", "key_id", "document_id", "bytes_sent")
)
SPREAD = timedelta(days=365)  # of the entries' times, up to now
BATCH = 100_000  # rows between two lines of progress
KEY_NAMES = ("Zapier", "Nightly copy", "CRM sync", "Reporting", "Archive", "Data warehouse")
FILE_TYPES = ("signed", "signed", "signed", "original", "certificate")
# How often each thing happens, in a thousand.
FREQUENCY = {
    "document.downloaded": 480,
    "document.download_ended": 470,
    "login.succeeded": 30,
    "login.failed": 8,
    "key.created": 4,
    "key.revoked": 2,
    "key.deleted": 1,
    "member.added": 2,
    "member.removed": 1,
    "member.role_changed": 1,
    "workspace.plan_changed": 1,
}


def of(kind: int, number: int) -> UUID:
    """The id of the `number`th thing of a kind: the same in every run."""
    return UUID(f"{random.Random(kind << 40 | number).getrandbits(128):032x}")  # noqa: S311


class Population:
    """Workspaces, each with keys, documents and people; a few have most of the entries."""

    def __init__(self, workspaces: int, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - made-up data
        self.count = workspaces
        self.ids = [of(1, number) for number in range(workspaces)]

    def entry(self, action: str) -> dict[str, Any]:
        """One entry's facts, without its time."""
        # The square makes the first workspaces busy and the last ones quiet.
        number = int(self.count * self.random.random() ** 2)
        facts: dict[str, Any] = {
            "action": action,
            "request_id": f"{self.random.getrandbits(128):032x}",
        }
        person = f"person{self.random.randrange(4)}@workspace{number}.example"
        address = f"198.51.{number % 256}.{self.random.randrange(256)}"
        if action.startswith("login"):
            return facts | {"person": person, "address": address, "user_agent": "Mozilla/5.0"}
        facts |= {"workspace_id": self.ids[number], "workspace_name": f"Workspace {number}"}
        if action.startswith("document"):
            return facts | self.download(number, action) | {"address": address}
        facts["person"] = person
        if action.startswith("key"):
            return facts | self.key(number)
        if action.startswith("member"):
            return facts | {"member": f"person9@workspace{number}.example", "detail": "MEMBER"}
        return facts | {"detail": "FREE → PRO"}

    def key(self, workspace: int) -> dict[str, Any]:
        which = self.random.randrange(3)
        key_id = of(2, workspace * 3 + which)
        return {
            "key_id": key_id,
            "key_name": KEY_NAMES[(workspace + which) % len(KEY_NAMES)],
            "key_prefix": f"dtd_{key_id.hex[:8]}",
        }

    def download(self, workspace: int, action: str) -> dict[str, Any]:
        number = self.random.randrange(200)
        facts = self.key(workspace) | {
            "document_id": of(3, workspace * 200 + number),
            "document_title": f"Agreement {number} of workspace {workspace}",
            "file_type": self.random.choice(FILE_TYPES),
            "user_agent": "python-requests/2.32",
        }
        if action == "document.download_ended":
            facts |= {"detail": "complete", "bytes_sent": self.random.randrange(20_000, 2_000_000)}
        return facts


def rows(count: int, workspaces: int, seed: int) -> Iterator[tuple[Any, ...]]:
    """Entries in the order of their times, the last one now, as rows of COLUMNS."""
    population = Population(workspaces, seed)
    actions = population.random.choices(list(FREQUENCY), list(FREQUENCY.values()), k=count)
    start, step = datetime.now(UTC) - SPREAD, SPREAD / count
    for number, action in enumerate(actions, start=1):
        facts = EMPTY | population.entry(action) | {"created_at": start + step * number}
        yield tuple(facts[name] for name in COLUMNS)


def load(count: int, workspaces: int, seed: int) -> None:
    """Adds the entries by COPY, with a line of progress on stderr for each batch."""
    from django.db import connection  # noqa: PLC0415 - after the settings

    started = time.monotonic()
    with connection.cursor() as cursor:
        statement = f"COPY audit_auditentry ({', '.join(COLUMNS)}) FROM STDIN"
        with cursor.copy(statement) as copy:
            for number, row in enumerate(rows(count, workspaces, seed), start=1):
                copy.write_row(row)
                if number % BATCH == 0 or number == count:
                    seconds = time.monotonic() - started
                    sys.stderr.write(f"{number:,} of {count:,} entries, {seconds:.0f} s\n")
        sys.stderr.write("Vacuum and statistics …\n")
        cursor.execute("VACUUM (ANALYZE) audit_auditentry")


def main() -> None:
    parser = argparse.ArgumentParser(description="Fills the audit history with plausible entries.")
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--workspaces", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1, help="another one gives other entries")
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    embedded.provide(os.environ, embedded.data_dir(os.environ), ("postgres",))

    import django  # noqa: PLC0415 - the settings read what stands above

    django.setup()
    load(options.rows, options.workspaces, options.seed)


if __name__ == "__main__":
    main()
