"""GET /api/v1/search: what is found, in which order, and how far one page looks."""

import random
import re
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from config.api.errors import InvalidParameter
from config.api.parameters import LIMIT_EXPECTED
from documents.models import Document, DocumentStatus, Recipient, RecipientStatus, TitleWord
from documents.search import queries
from documents.search.parameters import (
    ADDRESS_EXPECTED,
    CURSOR_EXPECTED,
    NAMES,
    SORTS,
    TIME_EXPECTED,
    TIMES,
    WORDS_EXPECTED,
)
from tests.support import factories
from tests.support.cast import nodes, pages
from tests.support.client import forget_requests
from tests.support.factories import Tenant, at, uid

START = at("2026-03-01 00:00:00")
TITLES = ["Lease 12", "Lease 13, Müller & Söhne", "LEASES of 2026", "Çelik–Łódź: offer", "Offer_12"]
EMAILS = ["ada@example.com", "Ada@Example.com", "björn@example.com", "chloé@example.com"]
ASKED_TITLES = ["lease", "LEASE 12", "muller", "of", "celik lodz", "offer 1", "nothing"]
Query = list[tuple[str, str]]


def folded(text: str) -> str:
    """In lower case without accents, as the search compares it; one space before each word."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
    lower = plain.lower().replace("ł", "l")
    return "".join(f" {word}" for word in "".join(c if c.isalnum() else " " for c in lower).split())


def matches(document: Document, query: Query) -> bool:
    """Whether a document should be found."""
    given = dict(query)
    statuses = [value for name, value in query if name == "status"]
    sort = given.get("sort", "created")
    people = [
        each
        for each in document.recipients.all()
        if given.get("recipient", each.email).lower() == each.email.lower()
        and given.get("recipientStatus", each.status) == each.status
    ]
    times = {time: getattr(document, f"{time}_at") for time in TIMES}
    return (
        document.deleted_at is None
        and times[sort] is not None
        and (not statuses or document.status in statuses)
        and (bool(people) or not {"recipient", "recipientStatus"} & set(given))
        and all(
            f" {word}" in folded(document.title) for word in folded(given.get("title", "")).split()
        )
        and all(
            time is not None
            and (f"{name}From" not in given or time >= datetime.fromisoformat(given[f"{name}From"]))
            and (
                f"{name}Before" not in given
                or time < datetime.fromisoformat(given[f"{name}Before"])
            )
            for name, time in times.items()
            if {f"{name}From", f"{name}Before"} & set(given)
        )
    )


def expected(documents: list[Document], query: Query) -> list[str]:
    """The ids that should be found, in their order."""
    column = f"{dict(query).get('sort', 'created')}_at"
    found = [document for document in documents if matches(document, query)]
    found.sort(key=lambda document: (getattr(document, column), document.id), reverse=True)
    return [str(document.id) for document in found]


def walk(
    tenant: Tenant, query: Query, between: Callable[[list[str]], None] = lambda _: None
) -> list[str]:
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
            between(seen)
    return seen


def populate(tenant: Tenant, count: int, dice: random.Random) -> None:
    """Documents of all kinds, many of them at the same moments."""

    def moment(_: int) -> datetime | None:
        return dice.choice([None, START + timedelta(hours=dice.randrange(12))])

    made = factories.listed(
        tenant.workspace,
        count,
        title=lambda _: dice.choice(TITLES),
        status=lambda _: dice.choice([s for s in DocumentStatus.values if s != "COMPLETED"]),
        created_at=lambda _: START + timedelta(hours=dice.randrange(12)),
        sent_at=moment,
        completed_at=moment,
        expires_at=moment,
        deleted_at=lambda number: START if number % 11 == 0 else None,
    )
    Recipient.objects.bulk_create(
        Recipient(
            document=document,
            name="Ada",
            email=dice.choice(EMAILS),
            role="SIGNER",
            status=dice.choice(RecipientStatus.values),
            order=order,
        )
        for document in made
        for order in range(dice.randrange(4))
    )


def asked(dice: random.Random) -> Query:
    """Some parameters with values."""
    query: Query = [("limit", str(dice.choice([1, 7, 25, 100])))]
    if dice.random() < 0.4:
        chosen = dice.sample(DocumentStatus.values, dice.randrange(1, 5))
        query += [("status", status) for status in chosen]
    for time in TIMES:
        for end in ("From", "Before"):
            if dice.random() < 0.12:
                moment = START + timedelta(hours=dice.randrange(13))
                query.append((f"{time}{end}", moment.isoformat()))
    if dice.random() < 0.3:
        query.append(("recipient", dice.choice(EMAILS).upper()))
    if dice.random() < 0.3:
        query.append(("recipientStatus", dice.choice(RecipientStatus.values)))
    if dice.random() < 0.4:
        query.append(("title", dice.choice(ASKED_TITLES)))
    if dice.random() < 0.7:
        query.append(("sort", dice.choice(SORTS)))
    return query


@pytest.mark.slow
@pytest.mark.parametrize(("looks", "spellings"), [(400, 16), (24, 1), (30, 16), (2, 16)])
def test_search_finds_what_a_model_finds_in_its_order(
    acme: Tenant,
    umbrella: Tenant,
    monkeypatch: pytest.MonkeyPatch,
    looks: int,
    spellings: int,
) -> None:
    """Few documents are looked at on a page here, so that each way of looking is taken."""
    monkeypatch.setattr(queries, "LOOKS", looks)
    monkeypatch.setattr(queries, "LOOKS_FAR", looks // 2)
    monkeypatch.setattr(queries, "RARE", looks)
    monkeypatch.setattr("documents.search.words.SPELLINGS", spellings)
    dice = random.Random(looks)  # noqa: S311 - no secret
    populate(acme, 60 if looks == 2 else 150, dice)
    populate(umbrella, 20, dice)
    documents = list(
        Document.objects.filter(workspace=acme.workspace).prefetch_related("recipients")
    )
    found = 0
    for _ in range(20 if looks == 2 else 50):
        query = asked(dice)
        ids = walk(acme, query)
        assert ids == expected(documents, query), query
        found += len(ids)
    assert found > 100


@pytest.mark.parametrize("sort", SORTS)
def test_search_shows_what_matches_throughout_once_while_others_come_and_go(
    acme: Tenant, monkeypatch: pytest.MonkeyPatch, sort: str
) -> None:
    monkeypatch.setattr(queries, "LOOKS_FAR", 8)
    monkeypatch.setattr(queries, "RARE", 10)
    dice = random.Random(sort)  # noqa: S311 - no secret
    populate(acme, 150, dice)
    query: Query = [("title", "le"), ("limit", "3"), ("sort", sort)]
    before = expected(list(acme.workspace.documents.prefetch_related("recipients")), query)
    gone: set[str] = set()

    def come_and_go(seen: list[str]) -> None:
        coming = [id for id in before if id not in seen]
        chosen = [*seen[-1:], *coming[5:6]]
        gone.update(chosen)
        Document.objects.filter(pk__in=chosen[:1]).update(deleted_at=START)
        Document.objects.filter(pk__in=chosen[1:]).delete()
        populate(acme, 2, dice)

    seen = walk(acme, query, come_and_go)
    assert len(seen) == len(set(seen))
    assert [id for id in seen if id in before] == [
        id for id in before if id not in gone or id in seen
    ]


def test_search_pages_have_each_document_once_and_none_deleted_or_foreign(
    acme: Tenant, umbrella: Tenant
) -> None:
    listed = factories.listed(acme.workspace, 4) + factories.listed(umbrella.workspace, 2)
    for document in listed:
        factories.recipient(document, email="ada@example.com")
    Document.objects.filter(pk=listed[3].pk).update(deleted_at=START)
    expected = sorted((each.created_at, str(each.pk)) for each in listed[:3])[::-1]
    for query in ({}, {"title": "agree"}, {"recipient": "ada@example.com"}, {"status": "SENT"}):
        assert walk(acme, [*query.items(), ("limit", "1")]) == [id for _, id in expected]


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


def test_search_follows_titles_recipients_and_deletions(acme: Tenant) -> None:
    document = factories.document(acme.workspace, title="Old name")
    person = factories.recipient(document, email="Ada@example.com")

    def finds(**query: Any) -> bool:
        return bool(acme.get(f"/search?{urlencode(query)}").json()["data"])

    assert finds(title="old", recipient="ADA@EXAMPLE.COM", recipientStatus="SENT")
    Document.objects.filter(pk=document.pk).update(title="New name")
    Recipient.objects.filter(pk=person.pk).update(email="eve@example.com", status="SIGNED")
    assert not finds(title="old")
    assert not finds(recipient="ada@example.com")
    assert not finds(recipientStatus="SENT")
    assert finds(title="new", recipient="eve@example.com", recipientStatus="SIGNED")
    document.refresh_from_db()
    document.created_at = START
    document.save()
    assert finds(title="new", recipient="eve@example.com", createdBefore="2026-03-02")
    document.delete()
    assert not TitleWord.objects.exists()


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
    "ΣΥΜΒΑΣΗ ΝΑΥΤΙΛΙΑΚΗΣ": ["ναυτιλιακής", "σύμβαση"],
    "σύμβαση ναυτιλιακής": ["ΝΑΥΤΙΛΙΑΚΗΣ"],
    "Straße 12 Mietvertrag": ["STRASSE", "strasse", "STRAẞE", "straße"],
    "Cœur de Lyon": ["coeur", "CŒUR"],
    "Ægir Þór samningur um veð": ["aegir", "thor", "ved"],
    "プロジェクト契約書2026": ["契約", "契", "契約書", "ジェクト契約書", "契約書 プロ 2026"],
    "租赁合同（上海）": ["合同", "上海", "租赁"],
    "สัญญาเช่าบ้าน": ["สัญญา", "เช่า", "บ้าน"],
    "हिन्दी समझौता": ["हिन्दी", "समझ"],
    "שָׁלוֹם عَقْد 계약서": ["שלום", "عقد", "계약"],
    "ﬁle №12_b": ["file", "no12", "b"],
    "Ｌｅａｓｅ　２０２６": ["lease 2026"],
    "Miet\u00advertrag non\u2011disclosure a\u200bb": ["mietvertrag", "non-disclosure", "ab"],
    "O’Brien – Smith": ["o'brien", "O‘Brien-Smith", "brien"],
    "Nguyễn Đình Thơ": [
        "nguyen dinh tho",
        "NGUYỄN ĐÌNH",
        "Nguye\u0302\u0303n",
        "Nguye\u0303\u0302n",
    ],
    "İstanbul ILICA Bəyan": ["istanbul ilıca beyan", "ıstanbul", "ILICA"],
    "Ørsted Ålborg Ħal": ["orsted alborg hal"],
    "Зелёный йод, зобовʼязання ґанок": [
        *("зеленый", "ЗЕЛЁНЫЙ", "иод", "зобов'язання", "зобов’язання", "зобовязання", "ганок"),
    ],
    'ООО"Ромашка"': ["ромашка", "ооо"],
    "Συμφωνία παροχής": ["συμφωνια παροχησ", "ΣΥΜΦΩΝΊΑ"],
    "צה״ל בית־ספר מע״מ": ['צה"ל', "צהל", "בית ספר", "בית-ספר", "מע''מ", "מעמ"],
    "قـــرارداد عَقْدٌ أحمد على مؤسسة ٢٠٢٦": [
        *("قرارداد", "عقد", "احمد", "علي", "علی", "موسسه", "2026", "۲۰۲۶"),
    ],
    "شركة الكتابة": ["شرکة", "الکتابه", "ﺷﺮﻛﺔ"],
    "می\u200cخواهم کتاب\u200cها": ["میخواهم", "مي\u200cخواهم", "كتابها", "کتاب"],
    "क़ानून २०२६ । क्\u200dष हाँ": ["कानून", "2026", "क्ष", "हां"],
    "བོད་ཡིག": ["ཡིག"],
    "ซื้อ\u200bขาย ๒๕๖๙ นำ": ["ซื้อขาย", "2569", "น\u0e4dา"],
    "កិច្ច\u200bសន្យា ២០២៦": ["កិច្ចសន្យា", "សន្យា", "2026"],
    "ｻｰﾊﾞｰ・ルーム ｶﾞｲﾄﾞ": ["サーバールーム", "サーバ", "サーバー", "ガイド", "ルーム"],
    "サーバ契約": ["サーバー", "サーバー契約"],
    unicodedata.normalize("NFD", "계약서 café"): ["계약서", "계약서", "cafe", "café"],
    "✍️ Lease 1️⃣": ["lease 1"],
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
        ("ANNA@Bücher.example", 1),
        ("ben@bücher.example", 1),
        ("ben@XN--BCHER-KVA.example", 1),
        ("JÜRGEN@example.com", 1),
        ("anna@bucher.example", 0),
        ("anna@xn--.example", 0),
    ]:
        for more in ("", "&recipientStatus=SENT", "&sort=expires"):
            data = acme.get(f"/search?recipient={quote(asked)}{more}").json()["data"]
            assert len(data) == (found if more != "&sort=expires" else 0), (asked, more)


def test_search_stores_any_title(acme: Tenant) -> None:
    """One letter may stand for 18: such a word would be too long for an index."""
    long = "\ufdfa" * 500
    factories.listed(acme.workspace, 1, title=long)
    assert acme.get(f"/search?title={quote(long[:200])}").json()["data"]


# A search → an index that its page reads.
INDEXES = {
    "": "document_newest",
    "createdFrom=2026-03-01": "document_newest",
    "status=SENT&status=VIEWED": "document_status_newest",
    "recipient=ADA@b.c": "recipient_email",
    "recipient=ada@b.c&recipientStatus=SENT": "recipient_email",
    "recipient=ada@b.c&recipientStatus=SIGNED": "recipient_email",  # none, both are frequent
    "recipient=ada@b.c&recipientStatus=SIGNED&sort=completed": "recipient_email",
    "recipientStatus=SENT": "recipient_status_newest",
    "title=le": "documents_titleword_pkey",
    "title=offer": "documents_document_pkey",
    "title=offer&sort=completed": "documents_document_pkey",
    "recipientStatus=SENT&title=le": "documents_titleword_pkey",
    "sort=completed": "document_completed",
    "sort=completed&status=SENT&title=lease": "document_completed",
    "sort=completed&completedFrom=2026-03-01T00:50:00Z&title=lease": "document_completed",
    "status=DECLINED&title=lease": "document_status_newest",
    "sentFrom=2026-03-01": "document_sent",
    "sort=completed&recipient=eve@b.c": "recipient_email",
}


@pytest.fixture
def vacuumed(as_owner: None) -> None:
    """The planner estimates by a table's pages; those of earlier tests' rows are empty by now."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM documents_document, documents_recipient, documents_titleword")


@pytest.mark.slow
@pytest.mark.usefixtures("vacuumed")
def test_search_looks_at_few_documents_by_an_index(acme: Tenant, umbrella: Tenant) -> None:
    for tenant in (acme, umbrella):
        documents = factories.listed(
            tenant.workspace,
            5000,
            title=lambda number: "Lease" if number % 2 else "Offer",
            status=lambda number: "SENT" if number % 2 else "VIEWED",
            created_at=lambda number: START + timedelta(seconds=number),
            completed_at=lambda number: START + timedelta(seconds=number),
        )
        Recipient.objects.bulk_create(
            Recipient(
                document=each,
                name="A",
                email="ada@b.c" if number % 2 else "bob@b.c",
                status="SENT" if number % 2 else "SIGNED",
                role="CC",
                order=1,
            )
            for number, each in enumerate(documents)
        )
    with connection.cursor() as cursor:
        for table in ("document", "recipient", "titleword"):
            cursor.execute(f"ANALYZE documents_{table}")
        # What is rare now, though the statistics say that it is frequent.
        offers = acme.workspace.documents.filter(title="Offer")
        offers.exclude(pk=offers[0].pk).update(title="Gone")
        for query, index in INDEXES.items():
            with CaptureQueriesContext(connection) as captured:
                assert acme.get(f"/search?{query}").status == 200
            sqls = [q["sql"] for q in captured if re.search("row_number|count", q["sql"])]
            scans: list[dict[str, Any]] = []
            for sql in sqls:
                settings, _, query_itself = sql.rpartition("; ")
                cursor.execute(f"{settings}; EXPLAIN (ANALYZE, FORMAT JSON) {query_itself}")
                while cursor.nextset():
                    pass
                [[found]] = cursor.fetchall()
                scans = list(nodes(found[0]["Plan"])) + scans
            assert index in {scan.get("Index Name") for scan in scans}, query
            for scan in scans:
                read = scan["Actual Rows"] + scan.get("Rows Removed by Filter", 0)
                assert read * scan["Actual Loops"] <= queries.LOOKS, (query, scan)
