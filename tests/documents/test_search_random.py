"""GET /search finds in random documents what a plain model finds, in its order, each once.

SEED=… repeats a run.
"""

import os
import random
import unicodedata
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import cache
from itertools import chain
from random import Random
from typing import Any, NamedTuple
from urllib.parse import urlencode
from uuid import UUID

import pytest
from django.db import transaction
from django.http import QueryDict

from config.api.errors import InvalidParameter
from config.connections import fetch
from documents.api.objects import DOCUMENT_COLUMNS
from documents.models import (
    Document,
    DocumentStatus,
    Outdated,
    Recipient,
    RecipientStatus,
    Searchable,
)
from documents.outdated import write_outdated
from documents.search import conditions, queries
from documents.search.parameters import SORTS, TEXT_MAX, TIMES, WORDS_MAX, read
from documents.search.queries import search
from tests.support import factories
from tests.support.factories import Tenant, at
from workspaces.models import Workspace

DOCUMENTS, BLOCK = 150, 50  # some documents are changed after so many searches
MARK = "\ue000"  # precedes what stands together in a script that writes no spaces
START = at("2026-03-01 00:00:00")
# Many documents have the same time, and others are a microsecond apart, some of them at midnight.
INSTANTS = [
    START + timedelta(weeks=n // 3, hours=n // 3 % 2 * 20, microseconds=n % 3 - 1)
    for n in range(60)
]
STATUSES = [each for each in DocumentStatus.values if each != "COMPLETED"]  # which needs files
EMAILS = [
    *("ada@example.com", "Ada@Example.com", "bob@example.com", "ada@example.community"),
    *("anna@bücher.example", "anna@xn--bcher-kva.example", "jürgen@example.com"),
]
WORDS = [
    *("lease", "Leasing", "Offer", "offered", "off", "abcdefghijkl", "O'Brien", "B2B", "100%"),
    *("12345", "12346", "2026", "٢٠٢٦", "۲۰۲۶", "२०२६", "a_b", "a\\b", "x" * 60, "x" * 61),
    *("Müller", "Straße", "STRASSE", "Łódź", "Miet\u00advertrag", "a\u200bb", "ﬁle", "İzmir"),
    *("Договор", "договорённость", "зобовʼязання", "Κύμα", "σύμβασης", "צה״ל", "בית־ספר"),
    *("قرارداد", "قـــرارداد", "عَقْدٌ", "على", "علی", "مؤسسة", "ﻗﺮﺍﺭ", "क़ानून", "क्\u200dष"),
    *("계약서", "สัญญาเช่าบ้าน", "ซื้อ\u200bขาย", "プロジェクト契約書2026", "ｻｰﾊﾞｰ・ルーム"),
    *("租赁合同（上海）", "契", f"{MARK}a"),
]
STALE = {"tokens": [], "folded_title": "", "created_at": START}
GAPS = (" ", " ", " ", ", ", "-", "/", "、", "\u3000", "\u00a0")


class Stored(NamedTuple):
    """A document that is not deleted, with the words of its title folded."""

    id: UUID
    status: str
    times: dict[str, datetime | None]
    words: list[str]
    recipients: list[tuple[str, str]]


class Asked(NamedTuple):
    """A search; a range has the first time and the end."""

    statuses: list[str]
    recipient: str
    recipient_status: str
    title: str
    ranges: dict[str, tuple[datetime | None, datetime | None]]
    sort: str

    def query(self) -> list[tuple[str, str]]:
        given = [("status", each) for each in self.statuses]
        given += [("recipient", self.recipient), ("recipientStatus", self.recipient_status)]
        given += [("title", self.title), ("sort", self.sort)]
        for time, bounds in self.ranges.items():
            names = (f"{time}From", f"{time}Before")
            given += [(n, b.isoformat() if b else "") for n, b in zip(names, bounds, strict=True)]
        return [(name, value) for name, value in given if value]


# --- The model


def stored(workspace: Workspace) -> list[Stored]:
    folded = "SELECT id, documents_folded(title) FROM documents_document WHERE workspace_id = %s"
    titles = dict(fetch(folded, [workspace.pk]))
    documents = workspace.documents.filter(deleted_at=None).prefetch_related("recipients")
    return [
        Stored(
            document.pk,
            document.status,
            {time: getattr(document, f"{time}_at") for time in TIMES},
            titles[document.pk].split(),
            [(same_address(each.email), each.status) for each in document.recipients.all()],
        )
        for document in documents
    ]


@cache
def same_address(email: str) -> str:
    """The same text for each spelling of an address."""
    local, _, domain = unicodedata.normalize("NFC", email.lower()).rpartition("@")
    return f"{local}@{domain.encode('idna').decode('idna')}"


def words_of(title: str) -> set[str]:
    [(folded,)] = fetch("SELECT documents_folded(%s)", [title])
    return {word[:60] for word in folded.split()}


def has_word(title: list[str], asked: str) -> bool:
    """Whether a word of the title begins so; in scripts without spaces, whether one has it."""
    if asked.startswith(MARK):
        return any(word.startswith(MARK) and asked[1:] in word for word in title)
    return any(word.startswith(asked) for word in title)


def meets(document: Stored, asked: Asked, words: set[str]) -> bool:
    for name, (first, end) in asked.ranges.items():
        time = document.times[name]
        if not time or (first and time < first) or (end and time >= end):
            return False
    statuses = [
        status
        for email, status in document.recipients
        if not asked.recipient or email == same_address(asked.recipient)
    ]
    return (
        bool(document.times[asked.sort or "created"])
        and (not asked.statuses or document.status in asked.statuses)
        and (not asked.recipient or bool(statuses))
        and (not asked.recipient_status or asked.recipient_status in statuses)
        and all(has_word(document.words, word) for word in words)
    )


def matching(documents: list[Stored], asked: Asked, words: set[str]) -> list[str]:
    """The ids of the documents that match, newest first."""
    found = [
        (document.times[asked.sort or "created"], document.id)
        for document in documents
        if meets(document, asked, words)
    ]
    return [str(id) for _, id in sorted(found, reverse=True)]


# --- Chance


def some_word(dice: Random) -> str:
    if dice.random() < 0.6:
        return dice.choice(WORDS)
    return "".join(dice.choices(dice.choice(("ab", "契約書合")), k=dice.randint(1, 12)))


def some_title(dice: Random) -> str:
    return "".join(some_word(dice) + dice.choice(GAPS) for _ in range(dice.randint(1, 5)))


def some_time(dice: Random) -> datetime | None:
    return dice.choice(INSTANTS) if dice.random() < 0.8 else None


def some_range(dice: Random) -> tuple[datetime | None, datetime | None]:
    first = dice.choice(INSTANTS)
    end = dice.choice([each for each in INSTANTS if each >= first][: dice.choice((2, 6, 60))])
    return dice.choice(((first, end), (first, end), (first, None), (None, end), (end, first)))


def part_of(dice: Random, title: str) -> str:
    """Some words of a title, each cut, and with its letters in another form."""
    words = []
    for _ in range(dice.choice((1, 1, 1, 2, 3, 10))):
        word = dice.choice(title.split())
        first = dice.choice((0, 0, 0, len(word) // 2))
        words.append(word[first : first + dice.choice((1, 2, 3, 4, 5, 6, 8, 9, 70))])
    text = dice.choice((str, str.upper, str.lower))(dice.choice(GAPS).join(words))
    return unicodedata.normalize(dice.choice(("NFC", "NFD", "NFKC", "NFKD")), text)


def some_search(dice: Random, titles: list[str]) -> Asked:
    def perhaps(value: Any, nothing: Any = "") -> Any:
        return value if dice.random() < 0.35 else nothing

    return Asked(
        statuses=perhaps(dice.choices(DocumentStatus.values, k=dice.choice((1, 1, 2, 8))), []),
        recipient=perhaps(dice.choice([*EMAILS, "ADA@EXAMPLE.COM", "nobody@example.com"])),
        recipient_status=perhaps(dice.choice(RecipientStatus.values)),
        title=perhaps(part_of(dice, dice.choice(titles))) or perhaps(some_word(dice)),
        ranges={time: some_range(dice) for time in TIMES if dice.random() < 0.15},
        sort=perhaps(dice.choice(SORTS)),
    )


def add(dice: Random, workspace: Workspace, count: int) -> None:
    """Adds random documents with recipients, whose ids are random in the same way."""
    added = factories.listed(
        workspace,
        count,
        id=lambda _: UUID(int=dice.getrandbits(128)),
        title=lambda _: some_title(dice),
        status=lambda _: dice.choice(STATUSES),
        created_at=lambda _: dice.choice(INSTANTS),
        sent_at=lambda _: some_time(dice),
        completed_at=lambda _: some_time(dice),
        expires_at=lambda _: some_time(dice),
        deleted_at=lambda _: dice.choice((None, None, None, START)),
    )
    Recipient.objects.bulk_create(
        Recipient(
            id=UUID(int=dice.getrandbits(128)),
            document=document,
            name="Ada",
            email=dice.choice(EMAILS),
            role="SIGNER",
            status=dice.choice(RecipientStatus.values),
            order=1,
        )
        for document in added
        for _ in range(dice.randint(0, 3))
    )


def change(dice: Random, workspaces: list[Workspace]) -> None:
    """Changes something that a search can ask for, or adds or removes a document or recipient."""
    document, other = dice.choices(Document.objects.order_by("pk"), k=2)
    recipient = dice.choice(Recipient.objects.order_by("pk"))
    this = Document.objects.filter(pk=document.pk)
    person = Recipient.objects.filter(pk=recipient.pk)
    kept = Searchable.objects.filter(pk=document.pk)
    changes: list[Callable[[], object]] = [
        lambda: this.update(title=some_title(dice)),
        lambda: this.update(status=dice.choice(STATUSES)),
        lambda: this.update(**{f"{dice.choice(TIMES)}_at": dice.choice(INSTANTS)}),
        lambda: this.update(deleted_at=None if document.deleted_at else START),
        lambda: this.update(workspace=dice.choice(workspaces)),
        lambda: person.update(email=dice.choice(EMAILS)),
        lambda: person.update(status=dice.choice(RecipientStatus.values)),
        lambda: person.update(document=other),
        *(person.delete, this.delete),
        lambda: add(dice, dice.choice(workspaces), 1),
        # As if another transaction had locked the row, which is the same, or is not.
        lambda: Outdated.objects.create(document_id=document.pk),
        lambda: kept.update(**STALE) and Outdated.objects.create(document_id=document.pk),
    ]
    dice.choice(changes)()


# --- The comparison


def pages(tenant: Tenant, asked: Asked, limit: int) -> list[list[str]]:
    """The ids on each page; InvalidParameter if the API would respond with a 400."""
    wanted, found, after = read(QueryDict(urlencode(asked.query()))), list[list[str]](), None
    while after or not found:
        page = search(tenant.workspace.pk, wanted, after, limit)
        found.append([row[DOCUMENT_COLUMNS.index("id")] for row in page.rows])
        after = page.next
    return found


# 10,000 searches, in parts that run at the same time.
PARTS = [pytest.param(2_500, marks=pytest.mark.slow, id=f"part-{part}") for part in range(4)]


@pytest.mark.parametrize("searches", [100, *PARTS])
def test_search_finds_what_a_model_finds_in_random_documents(
    acme: Tenant,
    umbrella: Tenant,
    transactional_db: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    searches: int,
) -> None:
    """Few documents are looked at on a page here, so that each way of looking is taken.

    Transactions are short: tests of the events and of the audit log wait for those of other
    workers' databases too.
    """
    seed = int(os.environ.get("SEED") or (random.getrandbits(32) if searches > 100 else 1))
    with capsys.disabled():
        print(f" SEED={seed} ", end="", flush=True)  # noqa: T201
    dice = Random(seed)  # noqa: S311 - no secret
    add(dice, acme.workspace, DOCUMENTS)
    add(dice, umbrella.workspace, DOCUMENTS // 10)
    for first in range(0, searches, BLOCK):
        with transaction.atomic():
            for _ in range(10):
                change(dice, [acme.workspace, umbrella.workspace])
            if dice.random() < 0.3:
                write_outdated()
            are_short = first % 3 == 0
            most = 12 if are_short else 2 * DOCUMENTS
            monkeypatch.setattr(queries, "NEWEST", dice.choice((1, 12, 60)))
            monkeypatch.setattr(queries, "FURTHER", most)
            monkeypatch.setattr(queries, "MATCHES", most)
            monkeypatch.setattr(conditions, "DAYS_MAX", timedelta(dice.choice((0, 31))))
            compare(dice, acme, are_short, f"SEED={seed}, from search {first}")


def compare(dice: Random, acme: Tenant, are_short: bool, where: str) -> None:
    documents = stored(acme.workspace)
    titles = list(acme.workspace.documents.order_by("pk").values_list("title", flat=True))
    for _ in range(BLOCK):
        asked = some_search(dice, titles)
        words = words_of(asked.title)
        expected = matching(documents, asked, words)
        limit = min(100, max(1, len(expected) // dice.randint(1, 6) + dice.choice((0, 0, 1))))
        note = f"{where}: {asked}, limit {limit}"
        are_few = 0 < len(words) <= WORDS_MAX and len(asked.title) <= TEXT_MAX
        if not asked.title or (are_few and MARK not in asked.title):
            found = pages(acme, asked, limit)
            assert list(chain(*found)) == expected, note
            assert max(map(len, found)) <= limit, note
            assert are_short or all(len(page) == limit for page in found[:-1]), note
        else:
            with pytest.raises(InvalidParameter):
                pages(acme, asked, limit)
