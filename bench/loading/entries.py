"""Loader of audit entries, and the filters and searches that are measured on them."""

from datetime import date, timedelta
from typing import Any

from django.db import connection

from bench.loading.identity import identifier
from bench.loading.tables import check, query

PARTIES = 10_000  # workspaces in the audit log, with 3 keys and 200 documents each
NEWEST = date(2026, 6, 1)
DAYS = 365
# The entries that the filters find, however many others there are: three screens of each action.
PROBES = ["document.downloaded", "key.revoked", "member.added"]
PROBES_OF_AN_ACTION = 150
# In the order of their times, the probes spread evenly. The probes are of one more workspace, its
# first key and its first document. The square gives the first workspaces most entries. OFFSET 0
# has PostgreSQL compute a subquery once for each row, and not once for each use.
LOAD = """
    INSERT INTO audit_auditentry (id, created_at, action, workspace_id, workspace_name, person,
        member, detail, key_id, key_name, key_prefix, document_id, document_title, file_type,
        file_sha256, byte_range, bytes_sent, address, user_agent, request_id)
    SELECT nextval('audit_auditentry_id_seq'), %(newest)s::date + interval '9 hours'
            - interval '1 day' * %(days)s / %(count)s * (%(count)s - n), action,
        CASE WHEN topic <> 'login' THEN md5('party ' || party)::uuid END,
        CASE WHEN topic <> 'login' THEN 'Party ' || party ELSE '' END,
        CASE WHEN topic <> 'document' THEN 'person' || which %% 4 || '@party' || party || '.example'
            ELSE '' END,
        CASE topic WHEN 'member' THEN 'person9@party' || party || '.example' ELSE '' END,
        CASE WHEN topic = 'member' THEN 'MEMBER' WHEN topic = 'workspace' THEN 'FREE → PRO'
            WHEN action = 'document.download_ended' THEN 'whole file' ELSE '' END,
        CASE WHEN topic IN ('document', 'key') THEN key_id::uuid END,
        CASE WHEN topic NOT IN ('document', 'key') THEN '' WHEN probe THEN 'Probe key'
            ELSE (ARRAY['Zapier', 'Nightly copy', 'CRM sync', 'Reporting'])[key %% 4 + 1] END,
        CASE WHEN topic IN ('document', 'key') THEN 'dtd_' || left(key_id, 8) ELSE '' END,
        CASE topic WHEN 'document' THEN md5('paper ' || document)::uuid END,
        CASE topic WHEN 'document' THEN 'Agreement ' || document ELSE '' END,
        CASE topic WHEN 'document' THEN (ARRAY['signed', 'original'])[which %% 2 + 1] ELSE '' END,
        '', '',
        CASE action WHEN 'document.download_ended' THEN which %% 2000000 END,
        CASE WHEN topic IN ('document', 'login')
            THEN format('198.51.%%s.%%s', which / 250 %% 20, which %% 250 + 1) ELSE '' END,
        CASE topic WHEN 'document' THEN 'python-requests/2.32' WHEN 'login' THEN 'Mozilla/5.0'
            ELSE '' END,
        lpad(to_hex(n * 2 + 1), 32, '0')
    FROM generate_series(0::bigint, %(count)s - 1) n
    CROSS JOIN LATERAL (SELECT hashint8extended(n, 1) & 9223372036854775807 AS random,
        n %% %(every)s = 0 AS probe OFFSET 0) dice
    CROSS JOIN LATERAL (SELECT random %% 1000 AS roll OFFSET 0) thousand
    CROSS JOIN LATERAL (SELECT CASE WHEN probe THEN (%(probes)s::text[])[n / %(every)s %% 3 + 1]
        ELSE CASE WHEN roll < 480 THEN 'document.downloaded'
            WHEN roll < 950 THEN 'document.download_ended' WHEN roll < 980 THEN 'login.succeeded'
            WHEN roll < 988 THEN 'login.failed' WHEN roll < 992 THEN 'key.created'
            WHEN roll < 994 THEN 'key.revoked' WHEN roll < 995 THEN 'key.deleted'
            WHEN roll < 997 THEN 'member.added' WHEN roll < 998 THEN 'member.removed'
            WHEN roll < 999 THEN 'member.role_changed' ELSE 'workspace.plan_changed' END
        END AS action,
        CASE WHEN probe THEN %(parties)s
            ELSE floor(%(parties)s * ((random >> 47) / 65536::float8) ^ 2)::int END AS party,
        CASE WHEN probe THEN 0 ELSE random >> 16 & 4294967295 END AS which OFFSET 0) choice
    CROSS JOIN LATERAL (SELECT split_part(action, '.', 1) AS topic, party * 3 + which %% 3 AS key,
        party * 200 + which %% 200 AS document OFFSET 0) thing
    CROSS JOIN LATERAL (SELECT md5('entry key ' || key) AS key_id OFFSET 0) named
"""


# The entry of `migrate` is younger than all that are loaded.
WITHOUT_MIGRATIONS = """
    ALTER TABLE audit_auditentry DISABLE TRIGGER audit_append_only;
    DELETE FROM audit_auditentry;
    ALTER TABLE audit_auditentry ENABLE ALWAYS TRIGGER audit_append_only
"""


def load(count: int) -> None:
    """Inserts audit entries with their times; the database would set the present one.

    Only the owner of the table may do that.
    """
    values: dict[str, Any] = {
        "count": count,
        "every": count // (PROBES_OF_AN_ACTION * len(PROBES)),
        "newest": NEWEST,
        "days": DAYS,
        "parties": PARTIES,
        "probes": PROBES,
    }
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_MIGRATIONS)
        cursor.execute("ALTER TABLE audit_auditentry DISABLE TRIGGER audit_stamp")
        cursor.execute(LOAD, values)
        cursor.execute("ALTER TABLE audit_auditentry ENABLE TRIGGER audit_stamp")


def verify(count: int) -> None:
    """Checks the number of entries."""
    check("audit entries", query("SELECT count(*) FROM audit_auditentry"), [(count,)])


def filters() -> dict[str, str]:
    """The audit log's filters and searches: name → query string of a list of probes."""
    in_workspace = f"workspace_id__exact={identifier('party', PARTIES)}"
    key, document = identifier("entry key", PARTIES * 3), identifier("paper", PARTIES * 200)
    day = NEWEST - timedelta(days=DAYS // 2)
    return {
        "all of it": "",
        "a workspace": in_workspace,
        "a rare action": "action__exact=key.revoked",
        "a common action": "action__exact=document.downloaded",
        "a workspace and an action": f"{in_workspace}&action__exact=key.revoked",
        "dates": f"since={day - timedelta(days=30)}&until={day}",
        "a document": f"document_id__exact={document}",
        "a key": f"key_id__exact={key}",
        "search: a key's first characters": f"q=dtd_{key.hex[:8]}",
        "search: a key's name": "q=probe+key",
        "search: a user": f"q=person0@party{PARTIES}.example",
        "search: a member": f"q=person9@party{PARTIES}.example",
        "search: a document's id": f"q={document}",
        "search: a request's id": f"q={1:032x}",
    }
