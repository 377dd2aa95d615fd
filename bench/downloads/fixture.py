"""The documents to download, keys for them, and the server."""

import contextlib
import hashlib
import io
import os
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psutil

from bench.launch import SERVER_THREADS, granian, on_port, started, wait
from config.embedded.service import HOST
from config.ports import free_port
from tests.support import nginx_files

MB = 1_000_000


class Fixture:
    """A workspace with one document for each size in MB, and enough keys for the rate limit.

    Sets up Django in this process; the services must run. Deletes the files at the end.
    """

    def __init__(self, sizes: tuple[int, ...]) -> None:
        os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
        import django  # noqa: PLC0415 - the settings read the environment

        django.setup()
        from django.contrib.auth.models import User  # noqa: PLC0415
        from django.core.management import call_command  # noqa: PLC0415

        from apikeys.models import ApiKey  # noqa: PLC0415
        from config import static_files  # noqa: PLC0415
        from documents import storage  # noqa: PLC0415
        from documents.models import Document, StoredFile  # noqa: PLC0415
        from workspaces.models import Workspace  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        static_files.collect()
        workspace = Workspace.objects.create(name="Bench", plan="PRO")
        admin = User.objects.create(username=f"bench-{secrets.token_hex(4)}")
        self.keys = [
            ApiKey.objects.issue(workspace=workspace, name=f"Bench {n}", by=admin)[1]
            for n in range(20)
        ]
        self._objects: list[str] = []
        self.documents: dict[int, str] = {}  # paths
        self.urls: dict[int, str] = {}  # in object storage, signed
        for size in sizes:
            content = secrets.token_bytes(size * MB)
            key = storage.save(io.BytesIO(content))
            self._objects.append(key)
            sha256 = hashlib.sha256(content).hexdigest()
            stored = StoredFile.objects.create(object_key=key, size=size * MB, sha256=sha256)
            document = Document(workspace=workspace, title=f"{size} MB", file_name=f"{size}.pdf")
            document.page_count, document.file_size = 1, size * MB
            document.signing_order, document.original = "PARALLEL", stored
            document.save()
            self.documents[size] = f"/api/v1/documents/{document.id}/download"
            self.urls[size] = storage.signed_url(key, 3600)

    def __enter__(self) -> "Fixture":
        return self

    def __exit__(self, *exc: object) -> None:
        from documents import storage  # noqa: PLC0415 - after the set-up

        storage.delete(self._objects)


@contextlib.contextmanager
def server(*, by_nginx: bool) -> Iterator[tuple[str, psutil.Process]]:
    """A server with one worker, if asked for behind nginx that serves the files.

    Yields:
        Its URL and the worker.
    """
    with contextlib.ExitStack() as stopping:
        port = free_port()
        environment = {"X_ACCEL_DOWNLOADS": "yes", "TRUSTED_PROXIES": "1"} if by_nginx else {}
        command = granian("config.wsgi:application", workers=1, threads=SERVER_THREADS)
        process = stopping.enter_context(started(on_port(command, port), environment))
        wait(port, process)
        (worker,) = psutil.Process(process.pid).children()
        if by_nginx:
            folder = Path(stopping.enter_context(tempfile.TemporaryDirectory()))
            app, port = port, free_port()
            store = urlsplit(os.environ["S3_ENDPOINT_URL"]).netloc
            installed = nginx_files.install(folder, port, [app], store, http_port=free_port())
            process = stopping.enter_context(started(installed, {}))
            wait(port, process)
        yield f"http://{HOST}:{port}", worker
