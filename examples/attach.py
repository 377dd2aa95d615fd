#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx"]
# ///
"""Fetches the signed PDF of one document, given its id from the event `document.completed`.

It is put whole into FOLDER/DOCUMENT_ID/, so an event that is delivered twice changes nothing, and
its path is printed. What went wrong is one line on stderr, and exit status 1.

  DTD_BASE_URL  where the service is, without /api/v1: https://…
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…
"""

import argparse
import base64
import hashlib
import os
import re
import sys
import time
from pathlib import Path
from urllib.parse import unquote

import httpx

TRIES = 4


def problem_with(answer: httpx.Response) -> str:
    """Why this is not the whole file, as a person reads it; empty when it is."""
    if answer.status_code != 200:
        is_json = answer.headers.get("Content-Type") == "application/json"
        return f"{answer.url}: {answer.json()['error'] if is_json else answer.status_code}"
    digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
    whole = answer.headers.get("Repr-Digest") == f"sha-256=:{digest}:"
    return "" if whole else "What arrived is not the file: its digest differs."


def fetch(api: httpx.Client, path: str) -> httpx.Response:
    """The whole file. Asks again where that may help, after the time that the service names."""
    for attempt in range(1, TRIES + 1):
        seconds = str(attempt)
        try:
            answer = api.get(path, params={"type": "signed"})
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as exc:
            problem = f"{api.base_url}: {exc}."
        else:
            problem = problem_with(answer)
            if not problem:
                return answer
            if answer.status_code not in (200, 429, 503):
                break
            seconds = answer.headers.get("Retry-After", seconds)
        if attempt < TRIES:
            print(f"{problem} Waiting {seconds} s.", file=sys.stderr)
            time.sleep(int(seconds))
    sys.exit(problem)


def save(content: bytes, disposition: str, folder: Path) -> Path:
    """The file under its own name, less what a path would obey; there as a whole or not at all."""
    named = re.search(r"filename\*=UTF-8''([^;]+)", disposition)
    name = unquote(named[1]) if named else "signed.pdf"
    name = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]', "_", name).strip(" .")
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{os.getpid()}.part"
    part.write_bytes(content)
    return part.replace(folder / (name or "signed.pdf"))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("document_id", metavar="DOCUMENT_ID")
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=Path("attachments"))
    options = parser.parse_args()
    if missing := [name for name in ("DTD_BASE_URL", "DTD_API_KEY") if not os.environ.get(name)]:
        sys.exit(f"Set {' and '.join(missing)}; --help says to what.")
    if not re.fullmatch(r"[A-Za-z0-9-]+", options.document_id):  # a slash would lead elsewhere
        sys.exit("DOCUMENT_ID has letters, digits and hyphens only.")
    path = f"/api/v1/documents/{options.document_id}/download"
    base, key = os.environ["DTD_BASE_URL"], os.environ["DTD_API_KEY"].strip()
    try:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            file = fetch(api, path)
        disposition = file.headers.get("Content-Disposition", "")
        print(save(file.content, disposition, options.to / options.document_id))
    except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    main()
