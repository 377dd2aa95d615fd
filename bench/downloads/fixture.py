"""What is downloaded, and with which keys."""

import io
import os
import secrets

from bench import stack

MB = 1_000_000


def provide() -> None:
    """The stack and Django, in this process."""
    stack.provide()
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django  # noqa: PLC0415 - the settings read what stands above
    from django.core.management import call_command  # noqa: PLC0415

    django.setup()
    call_command("migrate", verbosity=0)


class Fixture:
    """A workspace with one document for each size in MB, and keys enough for the rate limit."""

    def __init__(self, sizes: tuple[int, ...]) -> None:
        import hashlib  # noqa: PLC0415

        from django.contrib.auth.models import User  # noqa: PLC0415

        from apikeys.models import ApiKey  # noqa: PLC0415
        from documents import storage  # noqa: PLC0415
        from documents.models import Document, StoredFile  # noqa: PLC0415
        from workspaces.models import Workspace  # noqa: PLC0415

        self.workspace = Workspace.objects.create(name="Bench", plan="PRO")
        admin = User.objects.create(username=f"bench-{secrets.token_hex(4)}")
        self.keys = [
            ApiKey.objects.issue(workspace=self.workspace, name=f"Bench {n}", by=admin)[1]
            for n in range(20)
        ]
        self.documents, self.urls = {}, {}
        for size in sizes:
            content = secrets.token_bytes(size * MB)
            key = storage.save(io.BytesIO(content))
            stored = StoredFile.objects.create(
                object_key=key, size=len(content), sha256=hashlib.sha256(content).hexdigest()
            )
            document = Document.objects.create(
                workspace=self.workspace,
                title=f"{size} MB",
                file_name=f"{size}.pdf",
                page_count=1,
                file_size=len(content),
                signing_order="PARALLEL",
                original=stored,
            )
            self.documents[size] = f"/api/v1/documents/{document.id}/download"
            self.urls[size] = storage.signed_url(key, 3600)
