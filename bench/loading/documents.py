"""Documents with their people and files, as rows for COPY."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.db import connection

from bench.loading.copying import NULL, copy
from bench.loading.identity import DOCUMENT, RECIPIENT, Workspace, identifier, mix
from bench.loading.instants import DAY, HOUR, MINUTE, SECOND, instant, written

NEWEST = instant(datetime(2026, 6, 1, 9, tzinfo=UTC))  # when the newest document was made
SPREAD = 1095 * DAY
RARE = 36  # documents of the large workspace with the status DECLINED
RECIPIENTS = 3  # on each document

# Of a hundred documents: the newest twentieth of a workspace is still on its way …
FRESH = ["DRAFT"] * 20 + ["SENT"] * 30 + ["VIEWED"] * 15 + ["PARTIALLY_SIGNED"] * 10
FRESH += ["COMPLETED"] * 25
# … and of the others most are complete.
OLD = ["DRAFT"] * 5 + ["SENT"] * 3 + ["VIEWED"] * 2 + ["PARTIALLY_SIGNED"] + ["COMPLETED"] * 79
OLD += ["EXPIRED"] * 10
CANCELLED = (0.45, 0.47)  # part of the large workspace where half is CANCELLED, and nowhere else
KINDS = ("Lease", "Non-disclosure agreement", "Offer", "Statement of work", "Data processing")
PARTIES = ("Müller & Söhne", "Acme", "O'Brien “Partners”", "Ünlü İnşaat", "Northwind")
GIVEN = ("Ada", "Björn", "Chloé", "Dmitri", "Ewa", "Fatma", "George", "Hồng")
FAMILY = ("Andersson", "Brontë", "Çelik", "Dubois", "Eriksen", "Fischer", "García")

DOCUMENT_COLUMNS = (
    "id",
    "workspace_id",
    "title",
    "status",
    "file_name",
    "page_count",
    "file_size",
    "signing_order",
    "created_at",
    "sent_at",
    "completed_at",
    "expires_at",
    "deleted_at",
    "original_id",
    "signed_id",
    "certificate_id",
)
RECIPIENT_COLUMNS = (
    "id",
    "document_id",
    "name",
    "email",
    "role",
    "status",
    "order",
    "sent_at",
    "viewed_at",
    "completed_at",
    "declined_at",
    "decline_reason",
)
FILE_COLUMNS = ("id", "object_key", "size", "sha256", "created_at")


@dataclass(slots=True)
class Made:
    """One made-up document: what its own row and those of its people and files have in common."""

    number: int  # among all documents
    random: int  # 64 bits
    status: str
    created: int  # an instant
    deleted: bool


def _status(workspace: Workspace, number: int, random: int) -> str:
    """What has become of a workspace's `number`th newest document."""
    place = number / workspace.documents
    if workspace.number == 0:
        if number % (workspace.documents // RARE) == workspace.documents // RARE // 2:
            return "DECLINED"
        if CANCELLED[0] <= place < CANCELLED[1] and random & 1:
            return "CANCELLED"
    elif random % 50 == 0:
        return "DECLINED" if random & 64 else "CANCELLED"
    return (FRESH if place < 1 / 20 else OLD)[random // 128 % 100]


def made(workspace: Workspace) -> Iterator[Made]:
    """A workspace's documents, newest first; every 50th was made at the same instant as another."""
    step, newest = SPREAD // workspace.documents, NEWEST - 137
    for number in range(workspace.documents):
        random = mix(workspace.first + number)
        created = newest - step * (number - (number % 50 == 1))
        status = _status(workspace, number, random)
        yield Made(workspace.first + number, random, status, created, deleted=False)
    for number in range(workspace.documents, workspace.documents + workspace.deleted):
        created = newest - step * (number - workspace.documents) * 100
        random = mix(workspace.first + number)
        yield Made(workspace.first + number, random, "DRAFT", created, deleted=True)


def document_lines(workspace: Workspace) -> Iterator[str]:
    for one in made(workspace):
        number, random, created = one.number, one.random, one.created
        kind, party = KINDS[random % 5], PARTIES[random // 8 % 5]
        made_at = written(created)
        sent = completed = expires = signed = certificate = NULL
        if one.status != "DRAFT":
            sent, expires = written(created + 7 * MINUTE), written(created + 30 * DAY)
        if one.status == "COMPLETED":
            completed = written(created + 2 * DAY + (random & 0xFFFFF))
            signed, certificate = f"{number * 3 + 2}", f"{number * 3 + 3}"
        yield (
            f"{identifier(DOCUMENT, number)}\t{workspace.id}\t{kind} {number}, {party}\t"
            f"{one.status}\t{kind}-{number}.pdf\t{random % 40 + 1}\t{random % 4_000_000 + 20_000}\t"
            f"{'SEQUENTIAL' if random & 4 else 'PARALLEL'}\t{made_at}\t{sent}\t{completed}\t"
            f"{expires}\t{made_at if one.deleted else NULL}\t"
            f"{number * 3 + 1}\t{signed}\t{certificate}"
        )


def file_lines(workspace: Workspace) -> Iterator[str]:
    for one in made(workspace):
        for which in range(3 if one.status == "COMPLETED" else 1):
            number = one.number * 3 + which + 1
            digest = f"{mix(number):016x}" * 4
            size = one.random % 4_000_000 + 20_000
            yield f"{number}\tbench/{number}\t{size}\t{digest}\t{written(one.created)}"


def _steps(status: str, order: int) -> tuple[str, str, int]:
    """How far the person with this place is: role, status, and how many times they have.

    The times are, in this order, sent, viewed, completed; a fourth is that of declining.
    """
    if order == RECIPIENTS:
        return ("CC", "PENDING", 0) if status == "DRAFT" else ("CC", "SENT", 1)
    role, done = ("SIGNER", "SIGNED") if order == 1 else ("APPROVER", "APPROVED")
    if status == "DRAFT":
        return role, "PENDING", 0
    if status == "COMPLETED" or (status == "PARTIALLY_SIGNED" and order == 1):
        return role, done, 3
    if status == "DECLINED" and order == 1:
        return role, "DECLINED", 4
    if status in ("VIEWED", "PARTIALLY_SIGNED", "EXPIRED") and order == 1:
        return role, "VIEWED", 2
    return role, "SENT", 1


def recipient_lines(workspace: Workspace) -> Iterator[str]:
    for one in made(workspace):
        document = identifier(DOCUMENT, one.number)
        started = one.created + 7 * MINUTE
        at = written(started)
        for order in range(1, RECIPIENTS + 1):
            role, status, times = _steps(one.status, order)
            random = one.random >> order * 8
            given, family = GIVEN[random % 8], FAMILY[random // 8 % 7]
            sent = at if times else NULL
            viewed = written(started + order * HOUR) if times > 1 else NULL
            done = started + order * DAY + (random & 255) * SECOND
            completed = written(done) if times == 3 else NULL
            declined, why = NULL, NULL
            if status == "DECLINED":
                declined, why = written(started + 30 * HOUR), "The price is not what we agreed on."
            yield (
                f"{identifier(RECIPIENT, one.number * 4 + order)}\t{document}\t{given} {family}\t"
                f"person{random % 5000}@party{random % 97}.example\t{role}\t{status}\t{order}\t"
                f"{sent}\t{viewed}\t{completed}\t{declined}\t{why}"
            )


TABLES = {
    "documents_storedfile": ("files", FILE_COLUMNS, file_lines),
    "documents_document": ("documents", DOCUMENT_COLUMNS, document_lines),
    "documents_recipient": ("recipients", RECIPIENT_COLUMNS, recipient_lines),
}


def load(workspaces: Sequence[Workspace]) -> None:
    """All documents of all workspaces, with their recipients and files."""
    documents = sum(w.documents + w.deleted for w in workspaces)
    totals = {
        "files": sum(1 if m.status != "COMPLETED" else 3 for w in workspaces for m in made(w)),
        "documents": documents,
        "recipients": documents * RECIPIENTS,
    }
    for table, (what, columns, lines) in TABLES.items():
        every = (line for workspace in workspaces for line in lines(workspace))
        copy(table, columns, every, what, totals[what])
    with connection.cursor() as cursor:  # the next file's number
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence('documents_storedfile', 'id'), %s)",
            [documents * 3],
        )
