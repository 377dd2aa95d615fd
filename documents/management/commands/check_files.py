"""check_files [--read] [--orphans [--delete]]"""

import hashlib
import json
from argparse import ArgumentParser
from datetime import timedelta
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q
from django.utils import timezone

from config.management.progress import InterruptibleCommand, Progress
from config.management.shutdown import graceful_shutdown
from documents import storage
from documents.api.parameters import FILE_TYPES
from documents.models import Document, StoredFile
from documents.s3 import Archived, Missing, StorageError

ORPHANED_AFTER = timedelta(days=1)


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage"}
    help = (
        "Lists files that are missing in object storage, archived or damaged, as JSON Lines; with "
        "--orphans, objects instead that no document has named for a day."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--read", action="store_true", help="compare SHA-256, not only sizes")

        parser.add_argument(
            "--orphans",
            action="store_true",
            help="list the objects of replaced files and of imports that were not finished",
        )
        parser.add_argument("--delete", action="store_true", help="and delete them, with --orphans")

    def handle(self, *, read: bool, orphans: bool, delete: bool, **options: Any) -> None:
        if read and orphans or delete and not orphans:
            raise CommandError("--delete needs --orphans, which does not go with --read.")
        storage.check_bucket()  # without it, each file would be missing
        if orphans:
            self.orphans(delete=delete)
        else:
            self.files(read=read)

    def orphans(self, *, delete: bool) -> None:
        """Lists, and maybe deletes, objects that are a day old and no document's.

        An import uploads a file before it writes the document, and needs less than a day for that.
        """
        looked_at, found, size = 0, 0, 0
        progress = Progress(self.report)
        with graceful_shutdown() as shutdown:
            for objects in storage.listed():
                shutdown.check()
                old = [each for each in objects if timezone.now() - each.modified > ORPHANED_AFTER]
                named = _named([each.key for each in old])
                left = [each for each in old if each.key not in named]
                for each in left:
                    line = {"object": each.key, "size": each.size, "modified": str(each.modified)}
                    self.stdout.write(json.dumps(line))
                if delete:  # the rows first: their foreign keys protect what was named meanwhile
                    keys = [each.key for each in left]
                    StoredFile.objects.filter(object_key__in=keys).delete()
                    storage.delete(keys)
                looked_at += len(objects)
                found += len(left)
                size += sum(each.size for each in left)
                progress.note(f"{looked_at:,} objects looked at …")
        what = "deleted" if delete else "no document names them"
        self.report(f"Objects: {looked_at:,}; {what}: {found:,}, {size:,} bytes.")

    def files(self, *, read: bool) -> None:
        wrong = 0
        for file in StoredFile.objects.iterator():
            if problem := _problem(file, read=read):
                wrong += 1
                used = Q(original=file) | Q(signed=file) | Q(certificate=file)
                ids = map(str, Document.objects.filter(used).values_list("pk", flat=True))
                found = {"object": file.object_key, "sha256": file.sha256, "problem": problem}
                self.stdout.write(json.dumps({**found, "documents": list(ids)}))
        if wrong:
            raise CommandError(f"Missing or damaged files: {wrong}. See docs/reference.md.")


def _named(keys: list[str]) -> set[str]:
    """Those that a document has, also a deleted one."""
    named: set[str] = set()
    for kind in FILE_TYPES:
        of_kind = Document.objects.filter(**{f"{kind}__object_key__in": keys})
        named.update(of_kind.values_list(f"{kind}__object_key", flat=True))
    return named


def _problem(file: StoredFile, *, read: bool) -> str:
    digest = hashlib.sha256()
    try:
        if (size := storage.size_of(file.object_key)) != file.size:
            return f"has {size} bytes instead of {file.size}"
        for chunk in storage.read(file.object_key) if read else ():
            digest.update(chunk)
    except Missing:
        return "missing"
    except Archived as exc:
        return f"cannot be downloaded: {exc}"
    damaged = read and digest.hexdigest() != file.sha256
    return f"damaged: SHA-256 is {digest.hexdigest()}" if damaged else ""
