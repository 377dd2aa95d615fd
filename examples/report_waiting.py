#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx"]
# ///
"""Prints who still has to sign or approve what, and since when; the longest wait comes first.

With --csv it goes to a file for a spreadsheet, too. Times are UTC.

  DTD_BASE_URL  where the service is, without /api/v1: https://…
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…
"""

import argparse
import csv
import os
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from unicodedata import combining, east_asian_width

import httpx

TRIES = 4
COLUMNS = ("since", "days", "state", "has to", "name", "email", "document", "expires", "id")
SHOWN = COLUMNS[:7]
WIDEST = 32  # letters
# What a spreadsheet takes for the beginning of a formula.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")


def ask(api: httpx.Client, params: dict[str, str]) -> Any:
    """A page of documents. Waits and asks again where that may help; exits where it does not."""
    for attempt in range(1, TRIES + 1):
        seconds = str(attempt)
        try:
            answer = api.get("/api/v1/documents", params=params)
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as exc:
            problem = f"{api.base_url}: {exc}."
        else:
            if answer.status_code == 200:
                return answer.json()
            is_json = answer.headers.get("Content-Type") == "application/json"
            problem = f"{answer.url}: {answer.json()['error'] if is_json else answer.status_code}"
            if answer.status_code not in (429, 503):
                break
            seconds = answer.headers.get("Retry-After", seconds)
        if attempt < TRIES:
            print(f"{problem} Waiting {seconds} s.", file=sys.stderr)
            time.sleep(int(seconds))
    sys.exit(problem)


def documents(api: httpx.Client) -> Iterator[dict[str, Any]]:
    """All of the workspace's documents: PARTIALLY_SIGNED is no value of the status filter."""
    params = {"limit": "100"}
    while True:
        page = ask(api, params)
        yield from page["data"]
        if page["nextCursor"] is None:
            return
        params["cursor"] = page["nextCursor"]


def waiting(document: dict[str, Any], now: datetime) -> Iterator[dict[str, str]]:
    """A row for each person who has still to act; in SEQUENTIAL order only the next are asked."""
    if document["status"] not in ("SENT", "VIEWED", "PARTIALLY_SIGNED"):
        return
    asked = [who for who in document["recipients"] if who["role"] in ("SIGNER", "APPROVER")]
    left = [who for who in asked if who["status"] not in ("SIGNED", "APPROVED", "DECLINED")]
    turn = min((who["order"] for who in left), default=0)
    for who in left:
        later = document["signingOrder"] == "SEQUENTIAL" and who["order"] > turn
        since = "" if later else who["sentAt"] or document["sentAt"] or document["createdAt"]
        yield {
            "since": since[:10],
            "days": str((now - datetime.fromisoformat(since)).days) if since else "",
            "state": "LATER" if later else who["status"],
            "has to": "sign" if who["role"] == "SIGNER" else "approve",
            "name": who["name"],
            "email": who["email"],
            "document": document["title"],
            "expires": (document["expiresAt"] or "")[:10],
            "id": document["id"],
        }


def width(text: str) -> int:
    """Columns of a terminal: an East Asian letter takes two, a combining mark none."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """The lines of a table, long texts cut; nothing in a name can steer the terminal."""
    cells = [
        ["".join(c if c.isprintable() else " " for c in row[name])[:WIDEST] for name in SHOWN]
        for row in ({name: name.upper() for name in SHOWN}, *rows)
    ]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (text + " " * (most - width(text)) for text, most in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def write_csv(rows: list[dict[str, str]], path: Path) -> None:
    """A file that spreadsheets read as UTF-8, and in which no name is taken for a formula."""
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS)
        writer.writeheader()
        for row in rows:
            safe = {name: f"'{v}" if v.startswith(FORMULA) else v for name, v in row.items()}
            writer.writerow(safe)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--csv", metavar="FILE", type=Path)
    options = parser.parse_args()
    if missing := [name for name in ("DTD_BASE_URL", "DTD_API_KEY") if not os.environ.get(name)]:
        sys.exit(f"Set {' and '.join(missing)}; --help says to what.")
    base, key = os.environ["DTD_BASE_URL"], os.environ["DTD_API_KEY"].strip()
    now = datetime.now(UTC)
    try:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            rows = [row for document in documents(api) for row in waiting(document, now)]
        rows.sort(key=lambda row: (row["since"] or "later", row["document"], row["name"]))
        if options.csv:
            write_csv(rows, options.csv)
        print("\n".join(table(rows)) if rows else "Nobody has to sign anything.", flush=True)
    except BrokenPipeError:  # `head`, for one, has read enough
        os._exit(0)
    except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    main()
