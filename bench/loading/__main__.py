"""Loads an empty database: `python -m bench.loading SCALE main|few|imports`.

DATABASE_URL and DATABASE_OWNER_URL name it.

`main` has workspaces, documents and the long audit log; `few` a short one, and a workspace without
documents, to write to; `imports` one workspace with the documents to import.
"""

import argparse
import os

from bench import log
from bench.loading.identity import Workspace, workspaces
from bench.scale import SCALES, Scale


def load_workspaces(workspaces: list[Workspace]) -> None:
    """Workspaces and their keys."""
    from apikeys import keys  # noqa: PLC0415
    from apikeys.models import ApiKey  # noqa: PLC0415
    from workspaces import models  # noqa: PLC0415

    models.Workspace.objects.bulk_create(
        models.Workspace(id=workspace.id, name=workspace.name, plan="BUSINESS")
        for workspace in workspaces
    )
    ApiKey.objects.bulk_create(
        ApiKey(
            id=key.id,
            workspace_id=workspace.id,
            name=key.name,
            prefix=keys.first_characters(key.raw),
            digest=keys.digest(key.raw),
        )
        for workspace in workspaces
        for key in workspace.keys
    )


def load(scale: Scale) -> None:
    """Fills the tables of the database, which are empty."""
    from django.db import connection  # noqa: PLC0415

    from bench.loading import documents  # noqa: PLC0415
    from bench.loading.tables import without_indexes  # noqa: PLC0415

    loaded = workspaces(scale)
    load_workspaces(loaded)
    log(f"  documents of {len(loaded)} workspaces …")
    with without_indexes(documents.TABLES):
        documents.load(loaded)
    documents.verify(loaded)
    log("  vacuum and statistics …")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


def main() -> None:
    parser = argparse.ArgumentParser(description="Loads one of the benchmark's databases.")
    parser.add_argument("scale", choices=SCALES)
    options = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

    import django  # noqa: PLC0415 - the settings read the environment

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    from config import static_files  # noqa: PLC0415
    from config.postgresql.roles import as_owner  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    static_files.collect()
    with as_owner():  # who may remove indexes
        load(SCALES[options.scale])


if __name__ == "__main__":
    main()
