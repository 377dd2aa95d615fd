"""Loads the demo's documents through the importer, with their times shifted to end now."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from config.management.progress import Report
from config.runtime.request_context import actor
from documents.demo.people import PEOPLE, TENANTS, create_people
from documents.importing import import_lines
from workspaces.accounts.logins import with_login
from workspaces.models import Workspace

DATA = Path(__file__).parent / "data"  # one file of documents per workspace, and their PDFs
END = datetime(2026, 7, 1, 12, tzinfo=UTC)  # the present moment of the data


def wanted() -> bool:
    """True if the database is empty or holds only a partly loaded demo."""
    others = Workspace.objects.exclude(pk__in=[tenant.id for tenant in TENANTS])
    loaded = any(with_login(person.login).exists() for person in PEOPLE)
    return not (loaded or others.exists())


def load(report: Report, now: datetime | None = None) -> None:
    """Creates the workspaces and their documents, then the users, without passwords.

    All ids are fixed: after a load that failed, another one completes the demo. The demo ends at
    `now`; the same moment gives the same demo. Raises the exceptions of `import_lines`.
    """
    shift = (now or datetime.now(UTC)).replace(microsecond=0) - END
    for tenant in TENANTS:
        report(f"Importing the documents of {tenant.name} …")
        workspace = Workspace.objects.filter(pk=tenant.id).first() or tenant.create()
        lines = (DATA / f"{tenant.name.lower()}.jsonl").read_text(encoding="utf-8").splitlines()
        content = io.BytesIO("\n".join(_shifted(line, shift) for line in lines).encode())
        import_lines(workspace, content, DATA, report, by=actor(), strict=True)
    create_people()


def _shifted(line: str, shift: timedelta) -> str:
    """Shifts a document's times, and the year in its title and file name."""

    def shift_times(fields: dict[str, Any]) -> dict[str, Any]:
        times = [name for name in fields if name.endswith("At")]
        moments = {name: datetime.fromisoformat(fields[name]) + shift for name in times}
        return fields | {name: moment.isoformat() for name, moment in moments.items()}

    document = json.loads(line, object_hook=shift_times)
    for name in ("title", "fileName"):
        document[name] = document[name].replace(str(END.year), document["createdAt"][:4])
    return json.dumps(document)
