"""GET /api/v1/search: what is found, in which order, each document once."""

import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import import_module
from itertools import chain
from typing import Any
from urllib.parse import quote, urlencode
from uuid import uuid4

import psycopg
import pytest
from django.apps import apps
from django.db import connection, transaction
from django.http import QueryDict

from config.api.errors import InvalidParameter
from config.api.parameters import LIMIT_EXPECTED
from config.connections import fetch
from documents import outdated
from documents.api.documents import DocumentPosition
from documents.models import (
    Document,
    DocumentStatus,
    Outdated,
    Recipient,
    RecipientStatus,
    Searchable,
)
from documents.outdated import write_outdated
from documents.search import queries
from documents.search.parameters import (
    ADDRESS_EXPECTED,
    CURSOR_EXPECTED,
    NAMES,
    SORTS,
    TIME_EXPECTED,
    WORDS_EXPECTED,
    Range,
    read,
)
from tests.support import factories, roles
from tests.support.cast import pages
from tests.support.client import forget_requests
from tests.support.database import url_of
from tests.support.factories import Tenant, at, uid

START = at("2026-03-01 00:00:00")
Query = list[tuple[str, str]]


def walk(tenant: Tenant, query: Query) -> list[str]:
    """The ids of all pages. One that is not full says how far it looked, unless it is the last."""
    seen: list[str] = []
    for page in pages(tenant, f"/search?{urlencode(query)}"):
        ids = [document["id"] for document in page.json()["data"]]
        seen += ids
        if "link" not in page.headers:
            assert "searched-to" not in page.headers
        else:
            full = len(ids) == int(dict(query).get("limit", 25))
            assert full or datetime.fromisoformat(page.headers["searched-to"])
    return seen


@pytest.mark.parametrize("sort", ["created", "completed"])
def test_search_finds_each_match_once_in_its_order_however_few_documents_it_looks_at(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    monkeypatch.setattr(queries, "NEWEST", 6)
    monkeypatch.setattr(queries, "FURTHER", 12)
    monkeypatch.setattr(queries, "MATCHES", 12)
    made = factories.listed(
        acme.workspace,
        60,
        title=lambda n: "Offer" if n % 3 else "Lease",
        status=lambda n: ("DRAFT", "SENT", "VIEWED", "EXPIRED")[n % 4],
        **{f"{sort}_at": lambda n: START + timedelta(hours=n % 12)},
    )
    for n in range(0, 60, 2):
        status = "SENT" if n % 5 else "SIGNED"
        factories.recipient(made[n], email="ada@example.com", status=status)
        factories.recipient(made[n], email="bob@example.com", status="SIGNED")
    ada = ("recipient", "ada@example.com")
    searches: list[tuple[Query, Callable[[int], bool]]] = [
        ([], lambda n: True),
        ([("status", "DRAFT"), ("status", "VIEWED")], lambda n: n % 2 == 0),
        ([("title", "lea")], lambda n: n % 3 == 0),
        ([ada], lambda n: n % 2 == 0),
        ([ada, ("recipientStatus", "SIGNED")], lambda n: n % 10 == 0),
        ([("recipientStatus", "SENT"), ("title", "lease")], lambda n: n % 6 == 0 and n % 5 > 0),
        ([(f"{sort}From", "2026-03-01T06:00:00Z"), ("title", "le")], lambda n: n % 12 in (6, 9)),
        ([(f"{sort}Before", "2026-03-01T01:00:00Z")], lambda n: n % 12 == 0),
    ]
    newest = sorted(range(60), key=lambda n: (n % 12, made[n].pk), reverse=True)
    for query, matches in searches:
        found = walk(acme, [*query, ("sort", sort), ("limit", "7")])
        assert found == [str(made[n].pk) for n in newest if matches(n)], query


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("completedBefore=2026-03-01", (18, 19)),  # one of them long before the others
        ("completedBefore=2026-03-01&title=agreement&sentFrom=2026-03-01", (18, 19)),
        ("completedFrom=2026-03-01&completedBefore=2026-04-01", (16, 17)),  # and none of April
        ("completedFrom=2026-02-01&completedBefore=2026-04-01", (16, 17, 19)),
        ("completedFrom=2026-04-02T08:00:00Z&completedBefore=2026-04-02T10:00:00Z", (0, 1, 2, 3)),
        ("completedFrom=2026-04-03&completedBefore=2026-04-04&sort=expires", (4, 5, 6, 7)),
        ("expiresFrom=2026-03-02", (19,)),
    ],
)
def test_search_finds_a_range_in_another_order_in_one_page(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch, asked: str, found: tuple[int, ...]
) -> None:
    for name, most in (("NEWEST", 2), ("FURTHER", 2), ("MATCHES", 4)):
        monkeypatch.setattr(queries, name, most)
    days = ["2026-04-02"] * 4 + ["2026-04-03"] * 4 + ["2026-04-20"] * 8
    days += ["2026-03-31", "2026-03-02", "2001-01-01", "2026-02-10"]
    made = factories.listed(
        acme.workspace,
        20,
        created_at=lambda n: START - timedelta(hours=n),
        sent_at=lambda _: START,
        completed_at=lambda n: at(f"{days[n]} 09:00:00"),
        expires_at=lambda n: START - timedelta(hours=n) if n < 19 else at("9999-12-31 00:00:00"),
    )
    page = acme.get(f"/search?{asked}").json()
    assert [each["id"] for each in page["data"]] == [str(made[n].pk) for n in found]
    assert page["nextCursor"] is None


def test_search_finds_nothing_in_ranges_that_end_before_they_begin(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "NEWEST", 1)
    factories.listed(acme.workspace, 2)
    never = [("From", "2026-07-03"), ("Before", "2026-06-30")]
    for times in (["sent"], ["sent", "expires"]):
        assert walk(acme, [(f"{time}{end}", day) for time in times for end, day in never]) == []


def test_search_finds_a_recipient_in_a_short_open_range_in_one_page(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("NEWEST", 2), ("FURTHER", 15), ("MATCHES", 4)):
        monkeypatch.setattr(queries, name, most)
    made = factories.listed(
        acme.workspace,
        20,
        created_at=lambda n: START - timedelta(hours=n),
        sent_at=lambda n: START + timedelta(days=-n if n < 17 else n),
    )
    for each in made:
        factories.recipient(each, status="VIEWED")
    page = acme.get("/search?recipientStatus=VIEWED&sentFrom=2026-03-02").json()
    assert [each["id"] for each in page["data"]] == [str(made[n].pk) for n in (17, 18, 19)]
    assert page["nextCursor"] is None


def test_search_finds_a_frequent_recipient_in_a_long_range_in_one_page(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("NEWEST", 2), ("FURTHER", 2), ("MATCHES", 4)):
        monkeypatch.setattr(queries, name, most)
    made = factories.listed(
        acme.workspace,
        20,
        created_at=lambda n: START - timedelta(hours=n),
        completed_at=lambda n: START + timedelta(days=20 * n),
    )
    for each in [*made[:12:2], *made[12:]]:
        factories.recipient(each, email="ada@example.com")
    asked = "recipient=ada@example.com&completedFrom=2026-03-21&completedBefore=2026-07-01"
    page = acme.get(f"/search?{asked}").json()
    assert [each["id"] for each in page["data"]] == [str(made[n].pk) for n in (2, 4, 6)]
    assert page["nextCursor"] is None


def test_search_is_as_the_list_without_parameters(acme: Tenant) -> None:
    factories.listed(acme.workspace, 30)
    listed, found = acme.get("/documents"), acme.get("/search")
    assert found.json()["data"] == listed.json()["data"]
    assert found.headers.keys() == listed.headers.keys()
    again = acme.get("/search", **{"If-None-Match": found.headers["etag"]})
    assert again.status == 304


STATUS = f"one of {', '.join(DocumentStatus.values)}"
PERSON = f"one of {', '.join(RecipientStatus.values)}"
TWICE = ("createdFrom", "is given more than once", TIME_EXPECTED)
NO_TIMES = (
    *("yesterday", "2026-07-01T09:30:00", "2026-07-01T00:00:00%2B05:99", "2026-02-30"),
    "0001-01-01T00:00:00%2B01:00",
)
NO_ADDRESS = ("is not valid", ADDRESS_EXPECTED)
NO_ADDRESSES = ("%00", "ada+test@b.c", "%20ada@b.c", "Ada", "a@b@c", "A%20%3Ca@b.c%3E")
NO_WORDS = ("%21%21", "%EE%80%80", "+".join("abcdefghi"))


def test_search_refuses_what_it_does_not_know(acme: Tenant) -> None:
    factories.listed(acme.workspace, 1)
    for query, name, problem, expected in (
        ("complteedFrom=1", "complteedFrom", "is unknown", f"one of {', '.join(NAMES)}"),
        ("status=PAID", "status", "is not valid", STATUS),
        ("status=", "status", "is empty", STATUS),
        ("sort=title", "sort", "is not valid", f"one of {', '.join(SORTS)}"),
        ("createdFrom=2026-07-01&createdFrom=2026-07-01", *TWICE),
        *((f"sentFrom={time}", "sentFrom", "is not valid", TIME_EXPECTED) for time in NO_TIMES),
        *((f"recipient={each}", "recipient", *NO_ADDRESS) for each in NO_ADDRESSES),
        ("recipientStatus=COMPLETED", "recipientStatus", "is not valid", PERSON),
        *((f"title={each}", "title", "is not valid", WORDS_EXPECTED) for each in NO_WORDS),
        ("limit=0", "limit", "is not valid", LIMIT_EXPECTED),
        ("cursor=x", "cursor", "is not valid", CURSOR_EXPECTED),
    ):
        response = acme.get(f"/search?{query}")
        assert response.status == 400, query
        assert response.error == InvalidParameter(name, expected, problem).detail


def test_search_cursor_belongs_to_its_workspace_and_parameters(
    acme: Tenant, umbrella: Tenant
) -> None:
    factories.listed(acme.workspace, 3)
    cursor = quote(acme.get("/search?limit=1&status=SENT").json()["nextCursor"])
    assert acme.get(f"/search?limit=2&status=SENT&cursor={cursor}").status == 200
    for tenant, other in [(umbrella, "status=SENT"), (acme, "status=DRAFT"), (acme, "title=a")]:
        assert tenant.get(f"/search?limit=1&{other}&cursor={cursor}").status == 400
    assert acme.get(f"/documents?cursor={cursor}").status == 400


def test_search_days_are_utc_and_offsets_count(acme: Tenant) -> None:
    [document] = factories.listed(acme.workspace, 1, created_at=at("2026-07-01 00:00:00"))
    for query, found in [
        ("createdFrom=2026-07-01", True),
        ("createdBefore=2026-07-01", False),
        ("createdFrom=2026-07-01T02:00:00%2B02:00", True),
        ("createdFrom=2026-07-01t00:00:00.001z", False),
    ]:
        ids = [each["id"] for each in acme.get(f"/search?{query}").json()["data"]]
        assert ids == ([str(document.id)] if found else [])


def test_search_finds_recipients_that_were_inserted_before_their_document(acme: Tenant) -> None:
    [document] = factories.listed(acme.workspace, 1)
    Document.objects.filter(pk=document.pk).delete()
    with transaction.atomic():
        factories.recipient(document, id=uid(5), email="ada@example.com")
        Document.objects.bulk_create([document])
    assert len(acme.get("/search?recipient=ada@example.com").json()["data"]) == 1


# A title → searches that find it.
FOUND = {
    "Договор Κύμα Łódź, Müller/Çelik": ["ДОГОВОР", "κυμα", "lodz", "muller celik", "cel"],
    "σύμβαση ναυτιλιακής": ["ΝΑΥΤΙΛΙΑΚΗΣ"],
    "Straße 12 Mietvertrag": ["STRASSE", "strasse", "STRAẞE", "straße"],
    "プロジェクト契約書2026": ["契約", "契", "契約書", "ジェクト契約書", "契約書 プロ 2026"],
    "租赁合同（上海）": ["合同", "上海", "租赁"],
    "สัญญาเช่าบ้าน": ["สัญญา", "เช่า", "บ้าน"],
    "Miet\u00advertrag non\u2011disclosure a\u200bb": ["mietvertrag", "non-disclosure", "ab"],
    "Nguyễn Đình Thơ": [
        "nguyen dinh tho",
        "NGUYỄN ĐÌNH",
        "Nguye\u0302\u0303n",
        "Nguye\u0303\u0302n",
    ],
    "İstanbul ILICA Bəyan": ["istanbul ilıca beyan", "ıstanbul", "ILICA"],
    "Зелёный йод, зобовʼязання ґанок": [
        *("зеленый", "ЗЕЛЁНЫЙ", "иод", "зобов'язання", "зобов’язання", "зобовязання", "ганок"),
    ],
    "צה״ל בית־ספר מע״מ": ['צה"ל', "צהל", "בית ספר", "בית-ספר", "מע''מ", "מעמ"],
    "قـــرارداد عَقْدٌ أحمد على مؤسسة ٢٠٢٦": [
        *("قرارداد", "عقد", "احمد", "علي", "علی", "موسسه", "2026", "۲۰۲۶"),
    ],
    "ﻗﺮﺍﺭﺩﺍﺩ\u200cها ﻻزم\u2060 \u3164ab": ["قراردادها", "قرارداد\u200cها", "لازم", "ab"],
    "क़ानून २०२६ । क्\u200dष हाँ": ["कानून", "2026", "क्ष", "हां"],
    "ซื้อ\u200bขาย ๒๕๖๙ นำ": ["ซื้อขาย", "2569", "น\u0e4dา"],
    "ｻｰﾊﾞｰ・ルーム ｶﾞｲﾄﾞ": ["サーバールーム", "サーバ", "サーバー", "ガイド", "ルーム"],
    unicodedata.normalize("NFD", "계약서 café"): ["계약서", "계약서", "cafe", "café"],
}
# Titles, and searches that do not find them: the text stands inside a word, or in pieces.
MISSED = {
    "プロジェクト契約書2026": ["約契", "契書", "プロ契約", "約書契約"],
    "Mietvertrag": ["vertrag"],
    "계약서": ["약서"],
}


def test_search_folds_case_and_finds_what_stands_inside_words_of_scripts_without_spaces(
    acme: Tenant,
) -> None:
    factories.listed(acme.workspace, 1)
    for title in {**FOUND, **MISSED}:
        Document.objects.update(title=title)
        for words, found in [(FOUND, True), (MISSED, False)]:
            for each in words.get(title, []):
                forget_requests()
                data = acme.get(f"/search?title={quote(each)}").json()["data"]
                assert bool(data) is found, (title, each)


def test_search_compares_domains_in_both_spellings(acme: Tenant) -> None:
    for email in ("anna@bücher.example", "Ben@xn--bcher-kva.example", "jürgen@example.com"):
        factories.recipient(factories.document(acme.workspace), email=email)
    for asked, found in [
        ("anna@xn--bcher-kva.example", 1),
        ("ben@bücher.example", 1),
        ("JÜRGEN@example.com", 1),
        ("anna@bucher.example", 0),
        ("anna@xn--.example", 0),
    ]:
        data = acme.get(f"/search?recipient={quote(asked)}").json()["data"]
        assert len(data) == found, asked


def test_search_finds_documents_that_were_there_before_its_table(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = factories.listed(acme.workspace, 3)
    Searchable.objects.all().delete()
    migration = import_module("documents.migrations.0002_searchable")
    monkeypatch.setattr(migration, "BATCH", 2)
    migration.fill(apps, connection.schema_editor(atomic=False))
    assert set(Searchable.objects.values_list("pk", flat=True)) == {d.pk for d in documents}


def test_search_stores_any_title(acme: Tenant) -> None:
    """One letter may stand for 18: such a word would be too long for an index."""
    long = "\ufdfa" * 500
    factories.listed(acme.workspace, 1, title=long)
    assert acme.get(f"/search?title={quote(long[:200])}").json()["data"]


@pytest.mark.usefixtures("transactional_db")
def test_search_finds_what_writers_have_changed_who_never_wait_for_each_other(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of two changes a recipient of both documents, in opposite orders, then one document."""
    monkeypatch.setattr(queries, "NEWEST", 1)  # others are found by their tokens
    documents = factories.listed(acme.workspace, 3)[1:]
    people = [
        [factories.recipient(each, email=f"{name}@example.com", order=n) for each in documents]
        for n, name in enumerate(("ada", "bob"))
    ]
    change = "UPDATE documents_recipient SET status = 'DECLINED' WHERE id = %s"
    title = "UPDATE documents_document SET title = 'New', sent_at = NULL WHERE id = %s"
    url = url_of(str(connection.settings_dict["NAME"]), "DATABASE_URL")
    with psycopg.connect(url) as first, psycopg.connect(url) as second:
        for writer in (first, second):
            writer.execute("SET lock_timeout = '1s'")
        first.execute(change, [people[0][0].pk])
        second.execute(change, [people[1][1].pk])
        first.execute(change, [people[0][1].pk])
        second.execute(change, [people[1][0].pk])
        second.execute(title, [documents[0].pk])

    def found(query: str) -> set[str]:
        response = acme.get(f"/search?{query}")
        return {document["id"] for document in response.json()["data"]}

    def finds_all() -> bool:
        both = {str(each.pk) for each in documents}
        declined = [
            f"recipient={name}@example.com&recipientStatus=DECLINED" for name in ("ada", "bob")
        ]
        return (
            all(found(query) == both for query in (*declined, "recipientStatus=DECLINED"))
            and found(f"{declined[0]}&title=new") == {str(documents[0].pk)}
            and not found("recipientStatus=DECLINED&sentFrom=2020-01-01&title=new")
        )

    assert Outdated.objects.exists()
    assert finds_all()
    write_outdated()
    assert not Outdated.objects.exists()
    assert finds_all()


@pytest.mark.usefixtures("transactional_db")
def test_one_of_two_who_change_recipients_of_a_deleted_document_can_restore_it(
    acme: Tenant,
) -> None:
    [document] = factories.listed(acme.workspace, 1, deleted_at=START)
    people = [factories.recipient(document, email=f"{n}@example.com", order=n) for n in range(2)]
    url = url_of(str(connection.settings_dict["NAME"]), "DATABASE_URL")
    with psycopg.connect(url) as first, psycopg.connect(url) as second:
        for writer, person in ((first, people[0]), (second, people[1])):
            writer.execute("SET lock_timeout = '1s'")
            writer.execute(
                "UPDATE documents_recipient SET status = 'VIEWED' WHERE id = %s", [person.pk]
            )
        first.execute("UPDATE documents_document SET deleted_at = NULL")
    assert len(acme.get("/search?recipientStatus=VIEWED").json()["data"]) == 1


@pytest.mark.usefixtures("transactional_db")
def test_search_keeps_nothing_of_a_document_that_was_deleted_while_its_row_was_locked(
    acme: Tenant,
) -> None:
    gone, deleted = factories.listed(acme.workspace, 2)
    url = url_of(str(connection.settings_dict["NAME"]), "DATABASE_URL")
    with psycopg.connect(url) as other:
        other.execute("SELECT FROM documents_searchable FOR UPDATE")
        Document.objects.filter(pk=gone.pk).delete()
        Document.objects.filter(pk=deleted.pk).update(deleted_at=START)
        assert acme.get("/search?title=agreement").json()["data"] == []
        write_outdated()
        assert Searchable.objects.count() == 2
        assert Outdated.objects.exists()
    write_outdated()
    assert not Searchable.objects.exists()
    assert not Outdated.objects.exists()


@pytest.mark.usefixtures("transactional_db")
def test_what_pg_dump_prints_of_each_function_can_be_executed() -> None:
    """`deploy/restore` executes it."""
    of_ours = """
        SELECT oid::regprocedure::text, pg_get_functiondef(oid) FROM pg_proc
        WHERE pronamespace = 'public'::regnamespace AND prokind = 'f'
            AND pg_get_userbyid(proowner) = current_user
    """
    with roles.as_owner(), connection.cursor() as cursor:
        found = dict(fetch(of_ours, []))
        assert "documents_token(uuid,text)" in found
        for definition in found.values():
            cursor.execute(definition)


def test_search_keeps_no_document_outdated_that_nobody_else_has_locked(acme: Tenant) -> None:
    document, other = factories.listed(acme.workspace, 2)
    other.delete()
    factories.recipient(document, email="ada@example.com", order=1)
    columns = {
        table: ", ".join(
            f'"{f.column}"' for f in model._meta.local_concrete_fields if not f.generated
        )
        for table, model in (("document", Document), ("recipient", Recipient))
    }
    new = uid(9)
    one_statement = f"""
        WITH document AS (
            INSERT INTO documents_document ({columns["document"]})
            SELECT {
        columns["document"].replace('"id"', "%(new)s").replace('"original_id"', "%(file)s")
    } FROM documents_document
        )
        INSERT INTO documents_recipient ({columns["recipient"]})
        SELECT {columns["recipient"].replace('"document_id"', "%(new)s").replace('"id"', "%(new)s")}
        FROM documents_recipient
    """  # noqa: S608 - made of columns
    with connection.cursor() as cursor:
        cursor.execute(one_statement, {"new": new, "file": other.original_id})
    assert len(acme.get("/search?recipient=ada@example.com").json()["data"]) == 2
    Document.objects.filter(pk=new).update(deleted_at=START)
    Recipient.objects.filter(document_id=new).update(status=RecipientStatus.DECLINED)
    assert not Outdated.objects.exists()


def test_writing_a_row_reads_no_table_or_index_from_end_to_end(acme: Tenant) -> None:
    """Else a session that began with empty tables would keep this plan while they grow."""
    document, *_ = factories.listed(acme.workspace, 50)
    factories.recipient(document, email="ada@example.com", order=1)

    def rows_read() -> dict[str, int]:
        """Rows and entries that this transaction has read."""
        tables = fetch(
            """SELECT relname, seq_tup_read + coalesce(idx_tup_fetch, 0)
            FROM pg_stat_xact_user_tables WHERE relname LIKE %s""",
            ["documents_%"],
        )
        indexes = fetch(
            """SELECT indexrelid::regclass::text, pg_stat_get_xact_tuples_returned(indexrelid)
            FROM pg_stat_user_indexes WHERE relname LIKE %s""",
            ["documents_%"],
        )
        return dict([*tables, *indexes])

    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")  # for the statements of this test
    before = rows_read()
    Recipient.objects.filter(document=document).update(status=RecipientStatus.VIEWED)
    Document.objects.filter(pk=document.pk).update(title="Lease")
    read_now = {name: number - before[name] for name, number in rows_read().items()}
    assert not {name: number for name, number in read_now.items() if number >= 50}


@pytest.mark.parametrize("sort", ["created", "completed"])
def test_a_deep_page_of_a_range_costs_what_one_without_a_range_does(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    factories.listed(acme.workspace, 2_000, completed_at=START)
    last = Document.objects.order_by("created_at", "id")[20:21].get()
    after = DocumentPosition(getattr(last, f"{sort}_at"), last.pk)
    statements = list[tuple[str, Any]]()
    run = queries._fetch

    def recording(sql: str, parameters: Any) -> Any:
        statements.append((sql, parameters))
        return run(sql, parameters)

    monkeypatch.setattr(queries, "_fetch", recording)
    whole = read(QueryDict(f"sort={sort}"))
    for asked in (whole, whole._replace(ranges=(Range(sort, None, at("2030-01-01 00:00:00")),))):
        queries.search(acme.workspace.pk, asked, after, 5)
    without, within = (
        run(f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {sql}", parameters)[0][0][0]["Plan"]
        for sql, parameters in statements
    )
    assert within["Shared Hit Blocks"] <= without["Shared Hit Blocks"] + 2


def test_search_goes_on_behind_a_row_whose_document_is_gone(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "NEWEST", 1)
    documents = factories.listed(acme.workspace, 5, title="Lease")
    row = Searchable.objects.get(pk=documents[1].pk)
    row.pk = uuid4()  # as if a replica had removed the document, where no trigger runs
    row.save(force_insert=True)
    found = [page.json()["data"] for page in pages(acme, "/search?title=lease&limit=2")]
    assert {row["id"] for row in chain(*found)} == {str(each.pk) for each in documents}


def test_search_looks_at_documents_in_order_if_too_many_are_outdated(
    acme: Tenant, umbrella: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "NEWEST", 1)
    monkeypatch.setattr(queries, "FURTHER", 2)
    documents = factories.listed(acme.workspace, 5, title="Lease")
    factories.listed(umbrella.workspace, 5)
    for tenant, found in ((umbrella, 5), (acme, 2)):
        Outdated.objects.bulk_create(
            Outdated(document_id=uuid4(), workspace_id=tenant.workspace.pk)
            for _ in range(queries.OUTDATED + 1)
        )
        response = acme.get("/search?title=lease")
        assert len(response.json()["data"]) == found
    assert "searched-to" in response.headers
    assert set(walk(acme, [("title", "lease")])) == {str(each.pk) for each in documents}


@pytest.mark.usefixtures("transactional_db")
def test_housekeeping_writes_all_outdated_documents_but_those_that_are_locked(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outdated, "BATCH", 2)
    documents = sorted(factories.listed(acme.workspace, 6), key=lambda each: each.pk)
    ids = [each.pk for each in documents]
    Outdated.objects.bulk_create([Outdated(document_id=id) for id in [*ids[:2] * 3, *ids, uid(10)]])
    Searchable.objects.update(folded_title="old")
    url = url_of(str(connection.settings_dict["NAME"]), "DATABASE_URL")
    with psycopg.connect(url) as other:
        other.execute("SELECT FROM documents_document WHERE id = ANY (%s) FOR UPDATE", [ids[:2]])
        write_outdated()
        assert set(Outdated.objects.values_list("document_id", flat=True)) == set(ids[:2])
        assert set(Searchable.objects.filter(folded_title="old").values_list("pk", flat=True)) == (
            set(ids[:2])
        )


@pytest.mark.usefixtures("transactional_db")
@pytest.mark.parametrize("table", ["documents_document", "documents_recipient"])
def test_search_finds_nothing_that_is_truncated(acme: Tenant, table: str) -> None:
    [document] = factories.listed(acme.workspace, 1)
    factories.recipient(document, email="ada@example.com", order=1)
    with roles.as_owner(), connection.cursor() as cursor:
        cursor.execute(f"TRUNCATE {table} CASCADE")
    assert Searchable.objects.count() == Document.objects.count()
    ada = fetch(
        "SELECT 1 FROM documents_searchable WHERE documents_token(%s, %s) = ANY (tokens)",
        [acme.workspace.pk, "recipient SENT ada@example.com"],
    )
    assert not ada


def test_search_knows_words_by_the_letters_in_which_they_differ(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("NEWEST", 1), ("FURTHER", 1), ("MATCHES", 2)):
        monkeypatch.setattr(queries, name, most)
    for title in ("Contoso ref0000399998", *["Contract ref0000100000"] * 3):
        factories.listed(acme.workspace, 1, title=title)
    for word in ("contoso", "ref0000399998"):
        assert len(acme.get(f"/search?title={word}").json()["data"]) == 1
