"""Loader of documents with their recipients and files."""

import hashlib
from collections.abc import Sequence
from io import BytesIO
from typing import Any

from django.db import connection
from pypdf import PdfWriter

from bench.loading.identity import Workspace
from bench.loading.tables import NotAsLoaded, check, query

TABLES = ("documents_storedfile", "documents_document", "documents_recipient")
RARE = 36  # documents of the large workspace with the status DECLINED
FEW = range(26, 100)  # documents with a rare status: more than a page
RECIPIENTS = 3  # of each document
# The newest twentieth of a workspace's documents is still in progress …
FRESH = ["DRAFT"] * 4 + ["SENT"] * 6 + ["VIEWED"] * 3 + ["PARTIALLY_SIGNED"] * 2
FRESH += ["COMPLETED"] * 5
# … and most of the others are complete.
OLD = ["DRAFT"] * 5 + ["SENT"] * 3 + ["VIEWED"] * 2 + ["PARTIALLY_SIGNED"] + ["COMPLETED"] * 79
OLD += ["EXPIRED"] * 10
WORDS = {
    "fresh": FRESH,
    "old": OLD,
    "kinds": ["Lease", "Non-disclosure agreement", "Offer", "Statement of work", "Data processing"],
    "parties": ["Müller & Söhne", "Acme", "O'Brien “Partners”", "Ünlü İnşaat", "Northwind"],
    "given": ["Ada", "Björn", "Chloé", "Dmitri", "Ewa", "Fatma", "George", "Hồng"],
    "family": ["Andersson", "Brontë", "Çelik", "Dubois", "Eriksen", "Fischer", "García"],
}

# Of one workspace, newest documents first; `n` counts them. Every 50th was created at the same
# instant as the one before. Only the large workspace has CANCELLED documents close together: half
# of those in 2 % of it.
LOAD = """
    WITH numbered AS (
        SELECT n, %(first)s + n AS number, n >= %(documents)s AS deleted,
            hashint8extended(%(first)s + n, 0) & 9223372036854775807 AS random
        FROM generate_series(0::bigint, %(documents)s + %(deleted)s - 1) n
    ), made AS (
        SELECT number, random, deleted, created_at, created_at + interval '7 minutes' AS sent_at,
            CASE
                WHEN deleted THEN 'DRAFT'
                WHEN %(large)s AND n %% %(gap)s = %(gap)s / 2 THEN 'DECLINED'
                WHEN %(large)s AND n * 100 / %(documents)s IN (45, 46) AND random & 1 = 1
                    THEN 'CANCELLED'
                WHEN NOT %(large)s AND random %% 50 = 0
                    THEN CASE random & 64 WHEN 0 THEN 'CANCELLED' ELSE 'DECLINED' END
                WHEN n < %(documents)s / 20 THEN (%(fresh)s::text[])[random / 128 %% 20 + 1]
                ELSE (%(old)s::text[])[random / 128 %% 100 + 1]
            END AS status,
            (%(kinds)s::text[])[random %% 5 + 1] AS kind
        FROM numbered, LATERAL (
            SELECT timestamptz '2026-06-01 08:59:59.999863Z' - interval '1095 days'
                / %(documents)s * (CASE WHEN deleted THEN (n - %(documents)s) * 100
                    WHEN n %% 50 = 1 THEN n - 1 ELSE n END) AS created_at
        ) created
    ), files AS (
        INSERT INTO documents_storedfile (id, object_key, size, sha256, created_at)
        SELECT id, 'bench/' || id, %(size)s, %(sha256)s, created_at
        FROM made, LATERAL (SELECT number * 3 + which AS id FROM generate_series(
            1, CASE status WHEN 'COMPLETED' THEN 3 ELSE 1 END) which) file
    ), documents AS (
        INSERT INTO documents_document (id, workspace_id, title, status, file_name, page_count,
            file_size, signing_order, created_at, sent_at, completed_at, expires_at, deleted_at,
            original_id, signed_id, certificate_id)
        SELECT md5('document ' || number)::uuid, %(workspace)s,
            kind || ' ' || number || ', ' || (%(parties)s::text[])[random / 8 %% 5 + 1], status,
            kind || '-' || number || '.pdf', 1, %(size)s,
            CASE random & 4 WHEN 0 THEN 'PARALLEL' ELSE 'SEQUENTIAL' END, created_at,
            CASE WHEN status <> 'DRAFT' THEN sent_at END,
            CASE status WHEN 'COMPLETED' THEN created_at + interval '2 days'
                + interval '1 microsecond' * (random & 1048575) END,
            CASE WHEN status <> 'DRAFT' THEN created_at + interval '30 days' END,
            CASE WHEN deleted THEN created_at END, number * 3 + 1,
            CASE status WHEN 'COMPLETED' THEN number * 3 + 2 END,
            CASE status WHEN 'COMPLETED' THEN number * 3 + 3 END
        FROM made
    )
    INSERT INTO documents_recipient (id, document_id, name, email, role, status, "order", sent_at,
        viewed_at, completed_at, declined_at, decline_reason)
    SELECT md5('recipient ' || number * 4 + place)::uuid, md5('document ' || number)::uuid,
        (%(given)s::text[])[dice %% 8 + 1] || ' ' || (%(family)s::text[])[dice / 8 %% 7 + 1],
        'person' || dice %% 5000 || '@party' || dice %% 97 || '.example', role, state, place,
        CASE WHEN state <> 'PENDING' THEN sent_at END,
        CASE WHEN state NOT IN ('PENDING', 'SENT') THEN sent_at + interval '1 hour' * place END,
        CASE WHEN state IN ('SIGNED', 'APPROVED')
            THEN sent_at + interval '1 day' * place + interval '1 second' * (dice & 255) END,
        CASE state WHEN 'DECLINED' THEN sent_at + interval '30 hours' END,
        CASE state WHEN 'DECLINED' THEN 'The price is not what we agreed on.' END
    FROM made, LATERAL (VALUES
        (1, 'SIGNER', CASE WHEN status = 'DRAFT' THEN 'PENDING'
            WHEN status IN ('COMPLETED', 'PARTIALLY_SIGNED') THEN 'SIGNED'
            WHEN status = 'DECLINED' THEN 'DECLINED'
            WHEN status IN ('VIEWED', 'EXPIRED') THEN 'VIEWED' ELSE 'SENT' END),
        (2, 'APPROVER', CASE status WHEN 'DRAFT' THEN 'PENDING' WHEN 'COMPLETED' THEN 'APPROVED'
            ELSE 'SENT' END),
        (3, 'CC', CASE status WHEN 'DRAFT' THEN 'PENDING' ELSE 'SENT' END)
    ) recipient (place, role, state), LATERAL (SELECT random >> place * 8 AS dice) shifted
"""


def pdf() -> bytes:
    """The only page of every file. Object storage has none of them."""
    writer, content = PdfWriter(), BytesIO()
    writer.add_blank_page(595, 842)
    writer.write(content)
    return content.getvalue()


def load(workspaces: Sequence[Workspace]) -> None:
    """Inserts all documents of the workspaces, with their recipients and files."""
    content = pdf()
    file = {"size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    with connection.cursor() as cursor:
        for workspace in workspaces:
            values: dict[str, Any] = {
                **WORDS,
                **file,
                "workspace": workspace.id,
                "first": workspace.first,
                "documents": workspace.documents,
                "deleted": workspace.deleted,
                "large": workspace.number == 0,
                "gap": max(workspace.documents // RARE, 1),
            }
            cursor.execute(LOAD, values)
        cursor.execute(
            "SELECT setval(pg_get_serial_sequence('documents_storedfile', 'id'), max(id))"
            " FROM documents_storedfile"
        )


def verify(workspaces: Sequence[Workspace], rare: str = "DECLINED") -> None:
    """Checks each workspace's documents, their recipients, and the counts of `/me`.

    Also that the first workspace has few documents with the status `rare`.
    """
    live = "SELECT workspace_id::text, count(*) FROM documents_document WHERE deleted_at IS NULL"
    found = dict(query(f"{live} GROUP BY 1"))
    check("documents", found, {w.id: w.documents for w in workspaces})
    recipients = RECIPIENTS * sum(w.documents + w.deleted for w in workspaces)
    check("recipients", query("SELECT count(*) FROM documents_recipient"), [(recipients,)])
    of_status = f"{live} AND workspace_id = %s AND status = %s GROUP BY 1"
    [(_, few)] = query(of_status, workspaces[0].id, rare)
    if few not in FEW:
        raise NotAsLoaded(f"{few} documents are {rare}")
    counts = "SELECT workspace_id::text, sum(count)::bigint FROM workspaces_documentcount"
    check("denormalised counts", dict(query(f"{counts} GROUP BY 1")), found)
