"""What the command prints: tables, CSV, JSON, and lines of its log."""

import csv
import json
import logging
import os
import stat
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain, islice
from typing import Any, TextIO
from unicodedata import combining, east_asian_width

from dtd.errors import printable
from dtd.models import Document

Row = dict[str, str]
MAX_LENGTH = 40  # characters of a cell
FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # spreadsheets read a cell that begins so as a formula


def show(rows: Iterable[tuple[dict[str, Any], Row]], options: Namespace) -> None:
    """Prints each JSON object, or each row as CSV or in a table."""
    rest = iter(rows)
    first = list(islice(rest, 100))
    if not first:
        log("Nothing found.")
    elif options.json:
        for raw, _ in chain(first, rest):
            print(as_json(raw))
    elif options.csv:
        if is_new_file(sys.stdout):
            print("\ufeff", end="")  # without it, Excel reads a file as ISO-8859-1 or similar
        writer = csv.DictWriter(sys.stdout, first[0][1], lineterminator="\n")
        writer.writeheader()
        shown = printable if sys.stdout.isatty() else str
        for _, row in chain(first, rest):
            writer.writerow({k: shown("'" * v.startswith(FORMULA) + v) for k, v in row.items()})
    else:
        show_table([row for _, row in first], (row for _, row in rest))


def is_new_file(stream: TextIO) -> bool:
    """Whether it is an empty file, and not a pipe to a program or a terminal."""
    with suppress(OSError):
        found = os.fstat(stream.fileno())
        return stat.S_ISREG(found.st_mode) and found.st_size == 0
    return False


def show_table(first: list[Row], rest: Iterator[Row]) -> None:
    """Prints a table, as wide as its first rows need."""
    first = [{name: name.upper() for name in first[0]}, *first]
    widths = {name: max(width(cell(row[name])) for row in first) for name in first[0]}
    for row in chain(first, rest):
        cells = {name: cell(text) for name, text in row.items()}
        padded = [text + " " * (widths[name] - width(text)) for name, text in cells.items()]
        print("  ".join(padded).rstrip())


def cell(text: str) -> str:
    """A text for a terminal: cut, without control characters."""
    return printable(text)[:MAX_LENGTH]


def as_json(raw: object, indent: int | None = None) -> str:
    """JSON in which control characters are escaped."""
    text = json.dumps(raw, ensure_ascii=False, indent=indent)
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def width(text: str) -> int:
    """Counts a terminal's columns: an East Asian letter needs two, a combining mark none."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def document_row(document: Document) -> tuple[dict[str, Any], Row]:
    row = {"id": document.id, "status": document.status}
    row["signed"] = f"{document.progress.done}/{document.progress.total}"
    row |= {"created": day(document.created_at), "completed": day(document.completed_at)}
    return document.raw, row | {"title": document.title}


def waiting_rows(document: Document) -> Iterator[Row]:
    """A row for each recipient who still has to act; in SEQUENTIAL order some act later."""
    actors = [each for each in document.recipients if each.role in ("SIGNER", "APPROVER")]
    left = [each for each in actors if each.status not in ("SIGNED", "APPROVED", "DECLINED")]
    next_order = min((each.order for each in left), default=0)
    for each in left:
        later = document.signing_order == "SEQUENTIAL" and each.order > next_order
        since = None if later else each.sent_at or document.sent_at or document.created_at
        yield {
            "since": day(since),
            "days": str((datetime.now(UTC) - since).days) if since else "",
            "state": "LATER" if later else each.status,
            "has to": "sign" if each.role == "SIGNER" else "approve",
            "name": each.name,
            "email": each.email,
            "document": document.title,
            "expires": day(document.expires_at),
            "id": document.id,
        }


def day(time: datetime | None) -> str:
    return f"{time:%Y-%m-%d}" if time else ""


class LogHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        log(record.getMessage())


def log(text: str, end: str = "\n") -> None:
    """Prints a line on stderr, in place of the progress bar if there is one."""
    print("\r\x1b[K" * sys.stderr.isatty() + printable(text), end=end, file=sys.stderr, flush=True)
