"""Two workspaces with documents and keys, and the requests of the load with their right bodies."""

import hashlib
import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass

import httpx

from bench.faults.client import Request
from bench.traffic import wire
from config.embedded.service import HOST

DOCUMENTS = 32  # in each workspace, and in the first one a large one
LARGE = 40_000_000  # bytes
KEYS = 50  # of each workspace
STEADY_KEYS = 8  # of each workspace, which the steady load uses
LIST = "/documents?limit=25"
LARGE_EVERY = 40  # downloads; one of them is the large file


@dataclass(frozen=True)
class Tenant:
    """A workspace's keys, and the requests with each of them."""

    keys: list[str]
    me: list[Request]
    lists: list[Request]
    details: list[list[Request]]
    downloads: list[list[Request]]


@dataclass(frozen=True)
class Data:
    """The requests of both workspaces; the first one has the large file."""

    acme: Tenant
    umbrella: Tenant
    large: list[Request]  # with each of its keys

    def mixed(self, keys: int = STEADY_KEYS, *, large: bool = True) -> Iterator[Request]:
        """`/me`, list, detail, download in turn, with so many keys of each workspace in turn."""
        tenants = (self.acme, self.umbrella)
        for turn in itertools.count():
            tenant, key = tenants[turn % 2], turn // 2 % keys
            document = turn * 7 % DOCUMENTS
            yield tenant.me[key]
            yield tenant.lists[key]
            yield tenant.details[key][document]
            if large and turn % LARGE_EVERY == LARGE_EVERY // 4:
                yield self.large[key]
            else:
                yield tenant.downloads[key][document]

    def reads(self, *tenants: Tenant, keys: int = KEYS) -> Iterator[Request]:
        """`/me`, list and detail in turn."""
        for turn in itertools.count():
            tenant, key = tenants[turn % len(tenants)], turn // len(tenants) % keys
            yield tenant.me[key]
            yield tenant.lists[key]
            yield tenant.details[key][turn * 7 % DOCUMENTS]

    def neighbour(self) -> Iterator[Request]:
        """`/me` and list in turn, of the second workspace."""
        for turn in itertools.count():
            key = turn % STEADY_KEYS
            yield self.umbrella.me[key]
            yield self.umbrella.lists[key]


def set_up() -> None:
    """Loads Django in this process, and brings the database to its newest state."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "config.settings"
    import django  # noqa: PLC0415 - the settings read the environment

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415

    from config import static_files  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    static_files.collect()


def create() -> dict[str, list[str]]:
    """Creates what an earlier run has not, and new keys.

    Returns:
        The raw keys of each workspace, by its id.
    """
    from django.db import connection, transaction  # noqa: PLC0415

    from apikeys.models import ApiKey  # noqa: PLC0415
    from tests.support import factories  # noqa: PLC0415
    from workspaces.models import Workspace  # noqa: PLC0415

    found = {}
    with transaction.atomic():
        for number, name in enumerate(("Acme", "Umbrella"), 1):
            workspace = Workspace.objects.filter(id=factories.uid(number, 1)).first()
            if workspace is None:
                workspace = factories.tenant(name, "BUSINESS", number).workspace
                for which in range(DOCUMENTS):
                    title = f"{name} agreement {which}"
                    factories.document(workspace, ("SENT", "COMPLETED")[which % 2], title=title)
                if name == "Acme":
                    factories.document(workspace, content=os.urandom(LARGE), title="Large")
            ApiKey.objects.filter(workspace=workspace).delete()
            admin = factories.user(f"admin@{name.lower()}.example")
            found[str(workspace.id)] = [
                factories.issue(workspace, f"Key {which}", admin)[1] for which in range(KEYS)
            ]
    connection.close()
    return found


def learn(port: int, keys: dict[str, list[str]]) -> Data:
    """Requests everything once, while all is healthy; the files' hashes are those in the database.

    Raises:
        RuntimeError: a response is not right.
    """
    from django.db import connection  # noqa: PLC0415

    from documents.models import Document  # noqa: PLC0415

    tenants: list[Tenant] = []
    large: list[Request] = []
    with httpx.Client(base_url=f"http://{HOST}:{port}/api/v1", timeout=30) as client:

        def right(path: str, raw: str, *ids: str) -> str:
            response = client.get(path, headers={"Authorization": f"Bearer {raw}"})
            if response.status_code != 200 or any(each not in response.text for each in ids):
                raise RuntimeError(f"{path}: {response.status_code} {response.text[:200]}")
            return hashlib.sha256(response.content).hexdigest()

        for workspace, raws in keys.items():
            rows = Document.objects.filter(workspace_id=workspace).select_related(
                "original", "signed"
            )
            small = [row for row in rows.order_by("title") if row.file_size < LARGE]
            details = {
                f"/documents/{row.id}": right(f"/documents/{row.id}", raws[0], str(row.id))
                for row in small
            }
            files = {
                f"/documents/{row.id}/download": (row.signed or row.original).sha256
                for row in small
            }
            newest = [str(row.id) for row in rows.order_by("-created_at", "-id")[:25]]
            listed = right(LIST, raws[0], *newest)
            tenants.append(
                Tenant(
                    raws,
                    [_request("me", raw, "/me", right("/me", raw, workspace)) for raw in raws],
                    [_request("list", raw, LIST, listed) for raw in raws],
                    [[_request("detail", raw, *d) for d in details.items()] for raw in raws],
                    [[_request("download", raw, *f) for f in files.items()] for raw in raws],
                )
            )
            for row in rows.filter(file_size=LARGE):
                path = f"/documents/{row.id}/download"
                large += [_request("download", raw, path, row.original.sha256) for raw in raws]
    connection.close()  # this thread's
    return Data(tenants[0], tenants[1], large)


def _request(endpoint: str, raw: str, path: str, sha256: str) -> Request:
    return Request(endpoint, wire(f"/api/v1{path}", f"Authorization: Bearer {raw}"), sha256)
