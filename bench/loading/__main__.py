"""Loads the database of DATABASE_URL: `python -m bench.loading SCALE main|few|imports FOLDER`.

`main` has workspaces, documents and the long audit history; `few` a short history, and one
workspace without documents, to write to; `imports` one workspace with the documents to import.
Run by `python -m bench`, on a database that is empty.
"""

import argparse
import os
from dataclasses import replace
from pathlib import Path

from bench.loading.identity import SUPPORT, Secret, Workspace, workspaces
from bench.progress import say
from bench.scale import SCALES, Scale


def accounts(secret: Secret) -> None:
    """The support person who reads the history."""
    from django.contrib.auth.hashers import make_password  # noqa: PLC0415
    from django.contrib.auth.models import Group, User  # noqa: PLC0415

    password = make_password(secret.derive("support"))
    person = User.objects.create(username=SUPPORT, password=password, is_staff=True)
    person.groups.add(Group.objects.get(name="Support"))


def tenants(tenants: list[Workspace]) -> None:
    """Workspaces and their keys."""
    from apikeys import keys  # noqa: PLC0415
    from apikeys.models import ApiKey  # noqa: PLC0415
    from workspaces import models  # noqa: PLC0415

    models.Workspace.objects.bulk_create(
        models.Workspace(id=tenant.id, name=tenant.name, plan="BUSINESS") for tenant in tenants
    )
    ApiKey.objects.bulk_create(
        ApiKey(
            id=key.id,
            workspace_id=tenant.id,
            name=key.name,
            prefix=keys.first_characters(key.raw),
            digest=keys.digest(key.raw),
        )
        for tenant in tenants
        for key in tenant.keys
    )


def population(scale: Scale, part: str, secret: Secret) -> list[Workspace]:
    """The workspaces of a part."""
    if part == "imports":
        return workspaces(replace(scale, documents=scale.imported, workspaces=0, keys=0), secret)
    everyone = workspaces(scale, secret)
    return everyone if part == "main" else everyone[:1]


def main() -> None:
    parser = argparse.ArgumentParser(description="Loads the benchmark's database.")
    parser.add_argument("scale", choices=SCALES)
    parser.add_argument("part", choices=("main", "few", "imports"))
    parser.add_argument("folder", type=Path, help="where the benchmark's secret is kept")
    options = parser.parse_args()
    scale, secret = SCALES[options.scale], Secret.of(options.folder)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

    import django  # noqa: PLC0415 - the settings read the environment

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415
    from django.db import connection  # noqa: PLC0415

    from bench.loading import documents, entries, importable, verify  # noqa: PLC0415
    from bench.loading.schema import stripped  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    everyone = population(scale, options.part, secret)
    tenants(everyone)
    if options.part != "imports":
        accounts(secret)
        count = scale.entries if options.part == "main" else scale.entries_few
        with stripped(["audit_auditentry"]):
            entries.load(count)
        verify.entries(count)
    if options.part != "few":
        with stripped(list(documents.TABLES)):
            documents.load(everyone)
            if options.part == "imports":
                importable.give_pdf()
        verify.documents(everyone, documents.RECIPIENTS, rare="DECLINED")
    say("  vacuum and statistics …")
    with connection.cursor() as cursor:
        cursor.execute("VACUUM (ANALYZE)")


if __name__ == "__main__":
    main()
