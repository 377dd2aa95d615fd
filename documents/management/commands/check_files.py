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
from documents.models import FILE_TYPES, Document, StoredFile
from documents.storage import Archived, Missing, StorageError

AGE = timedelta(days=1)  # of an object that may be deleted


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage"}
    help = (
        "Lists files that are missing in object storage, archived or damaged, as JSON Lines; with "
        "--orphans, objects instead that are a day old and that no document has."
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
        if delete and not orphans:
            raise CommandError("--delete needs --orphans.")
        storage.check_bucket()  # without it, each file would be missing
        if orphans:
            self.orphans(delete=delete)
        else:
            self.files(read=read)

    def orphans(self, *, delete: bool) -> None:
        """Lists, and maybe deletes, objects that are a day old and no document's.

        An import uploads a file before it writes the document, and needs less than a day for that.
        """
        progress, looked_at = Progress(self.report), 0
        with graceful_shutdown() as shutdown:
            for objects in storage.listed():
                shutdown.check()
                old = {e.key: e for e in objects if timezone.now() - e.last_modified > AGE}
                for kind in FILE_TYPES:  # also of deleted documents
                    named = Document.objects.filter(**{f"{kind}__object_key__in": list(old)})
                    for key in named.values_list(f"{kind}__object_key", flat=True):
                        old.pop(key, None)
                if delete:  # the rows first: their foreign keys protect what was named meanwhile
                    StoredFile.objects.filter(object_key__in=list(old)).delete()
                    storage.delete(old)
                for key, each in old.items():
                    found = {"object": key, "size": each.size, "modified": str(each.last_modified)}
                    self.stdout.write(json.dumps(found))
                looked_at += len(objects)
                progress.note(f"{looked_at:,} objects looked at …")

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
