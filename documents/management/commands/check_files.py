"""check_files [--read]"""

import hashlib
import json
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import CommandError
from django.db.models import Q

from config.management.progress import InterruptibleCommand
from documents import storage
from documents.models import Document, StoredFile
from documents.s3 import Missing, StorageError


class Command(InterruptibleCommand):
    needs = {StorageError: "Object storage"}
    help = "Lists files that are missing in object storage or damaged, one JSON object a line."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--read", action="store_true", help="compare SHA-256, not only sizes")

    def handle(self, *, read: bool, **options: Any) -> None:
        wrong = 0
        storage.check_bucket()  # without it, each file would be missing
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
    damaged = read and digest.hexdigest() != file.sha256
    return f"damaged: SHA-256 is {digest.hexdigest()}" if damaged else ""
