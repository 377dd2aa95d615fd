#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx"]
# ///
"""Prints who still has to sign or approve what, and since when; the longest wait comes first.

With --csv, the same rows also go to a file for a spreadsheet. Times are UTC.

  DTD_BASE_URL  address of the service, without /api/v1: https://…
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

COLUMNS = ("since", "days", "state", "has to", "name", "email", "document", "expires", "id")
SHOWN = COLUMNS[:7]
MAX_LENGTH = 32  # characters of a cell
FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # spreadsheets read a cell that begins so as a formula


def get_page(api: httpx.Client, params: dict[str, str]) -> Any:
    """Returns a page of documents. Retries if that can help, after the time the service names."""
    for seconds in (1, 2, 3, 0):  # no wait after the last try
        try:
            response = api.get("/api/v1/documents", params=params)
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as exc:
            problem = f"{exc.request.url}: {exc}."
        else:
            if response.status_code == 200:
                return response.json()
            is_json = response.headers.get("Content-Type") == "application/json"
            status = response.status_code
            problem = f"{response.url}: {response.json()['error'] if is_json else status}"
            if status not in (429, 503):
                break
            seconds = seconds and int(response.headers.get("Retry-After", seconds))
        if seconds:
            print(f"{problem} Waiting {seconds} s.", file=sys.stderr)
            time.sleep(seconds)
    sys.exit(problem)


def documents(api: httpx.Client) -> Iterator[dict[str, Any]]:
    """Lists all documents: the status filter has no value for PARTIALLY_SIGNED."""
    params = {"limit": "100"}
    while True:
        page = get_page(api, params)
        yield from page["data"]
        if page["nextCursor"] is None:
            return
        params["cursor"] = page["nextCursor"]


def waiting(document: dict[str, Any], now: datetime) -> Iterator[dict[str, str]]:
    """Makes a row for each recipient who still has to act; in SEQUENTIAL order some act later."""
    if document["status"] not in ("SENT", "VIEWED", "PARTIALLY_SIGNED"):
        return
    actors = [each for each in document["recipients"] if each["role"] in ("SIGNER", "APPROVER")]
    left = [each for each in actors if each["status"] not in ("SIGNED", "APPROVED", "DECLINED")]
    next_order = min((each["order"] for each in left), default=0)
    for each in left:
        later = document["signingOrder"] == "SEQUENTIAL" and each["order"] > next_order
        since = "" if later else each["sentAt"] or document["sentAt"] or document["createdAt"]
        yield {
            "since": since[:10],
            "days": str((now - datetime.fromisoformat(since)).days) if since else "",
            "state": "LATER" if later else each["status"],
            "has to": "sign" if each["role"] == "SIGNER" else "approve",
            "name": each["name"],
            "email": each["email"],
            "document": document["title"],
            "expires": (document["expiresAt"] or "")[:10],
            "id": document["id"],
        }


def width(text: str) -> int:
    """Counts a terminal's columns: an East Asian letter needs two, a combining mark none."""
    return sum(0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in text)


def table(rows: list[dict[str, str]]) -> Iterator[str]:
    """Formats a table's lines. Long texts are cut; control characters become spaces."""
    cells = [
        ["".join(c if c.isprintable() else " " for c in row[name])[:MAX_LENGTH] for name in SHOWN]
        for row in ({name: name.upper() for name in SHOWN}, *rows)
    ]
    widths = [max(map(width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = (text + " " * (most - width(text)) for text, most in zip(row, widths, strict=True))
        yield "  ".join(padded).rstrip()


def write_csv(rows: list[dict[str, str]], path: Path) -> None:
    """Writes a file that spreadsheets read as UTF-8, and in which no name is a formula."""
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
        sys.exit(f"Set {' and '.join(missing)}; see --help.")
    base, key = os.environ["DTD_BASE_URL"], os.environ["DTD_API_KEY"].strip()
    if not (key.isascii() and key.isprintable()):
        sys.exit("DTD_API_KEY has a character that is in no key; copy it again.")
    now = datetime.now(UTC)
    try:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            rows = [row for document in documents(api) for row in waiting(document, now)]
        rows.sort(key=lambda row: (row["since"] or "later", row["document"], row["name"]))
        if options.csv:
            write_csv(rows, options.csv)
        print("\n".join(table(rows)) if rows else "Nobody has to sign anything.", flush=True)
    except BrokenPipeError:  # the reader, `head` for example, has enough
        os._exit(0)
    except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    main()
