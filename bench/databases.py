"""The loaded databases: made when they are not there, or not the right ones, and kept."""

import hashlib
import time
from dataclasses import replace

from psycopg import sql

from bench.launch import ROOT
from bench.loading.identity import Secret
from bench.progress import say
from bench.scale import Scale
from bench.stack import Stack


def _fingerprint(scale: Scale, secret: Secret) -> str:
    """Changes whenever the loader or the schema would make something else."""
    sources = [*ROOT.glob("bench/loading/*.py"), *ROOT.glob("*/migrations/*.py")]
    amounts = replace(scale, deep=0, written=0, seconds=0, warm_up=0, rounds=0)
    parts = [repr(amounts).encode(), secret.value]
    parts += [file.read_bytes() for file in sorted(sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def loaded(stack: Stack, scale: Scale, part: str) -> str:
    """The name of the loaded database `part` of a scale (`bench.loading`)."""
    name = f"bench_{scale.name}_{part}"
    fingerprint = _fingerprint(scale, Secret.of(stack.folder))
    with stack.connect("postgres") as connection:
        found = connection.execute(
            "SELECT shobj_description(oid, 'pg_database') FROM pg_database WHERE datname = %s",
            [name],
        ).fetchone()
        if found == (fingerprint,):
            say(f"{name} is loaded already")
            return name
        say(f"loading {name} …")
        database = sql.Identifier(name)
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(database))
        connection.execute(sql.SQL("CREATE DATABASE {}").format(database))
        started = time.monotonic()
        stack.run(name, "-m", "bench.loading", scale.name, part, str(stack.folder))
        # Last: a load that was broken off is begun anew.
        connection.execute(
            sql.SQL("COMMENT ON DATABASE {} IS {}").format(database, sql.Literal(fingerprint))
        )
    say(f"{name} was loaded in {time.monotonic() - started:.0f} s")
    return name
