#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx"]
# ///
"""Downloads the signed PDF of one document, given its id from the event `document.completed`.

The file is saved as a whole in FOLDER/DOCUMENT_ID/, so an event that is delivered twice changes
nothing, and its path is printed. An error is one line on stderr, and exit status 1.

  DTD_BASE_URL  address of the service, without /api/v1: https://…
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
from uuid import UUID

import httpx


def problem_with(response: httpx.Response) -> str:
    """Describes why the response is not the whole file; empty if it is."""
    if response.status_code != 200:
        is_json = response.headers.get("Content-Type") == "application/json"
        return f"{response.url}: {response.json()['error'] if is_json else response.status_code}"
    digest = base64.b64encode(hashlib.sha256(response.content).digest()).decode()
    whole = response.headers.get("Repr-Digest") == f"sha-256=:{digest}:"
    return "" if whole else f"{response.url}: The file is damaged: its digest differs."


def download(api: httpx.Client, path: str) -> httpx.Response:
    """Returns the whole file. Retries if that can help, after the time that the service names."""
    for seconds in (1, 2, 3, 0):  # no wait after the last try
        try:
            response = api.get(path, params={"type": "signed"})
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as exc:
            problem = f"{exc.request.url}: {exc}."
        else:
            problem = problem_with(response)
            if not problem:
                return response
            if response.status_code not in (200, 429, 503):
                break
            seconds = seconds and int(response.headers.get("Retry-After", seconds))
        if seconds:
            print(f"{problem} Waiting {seconds} s.", file=sys.stderr)
            time.sleep(seconds)
    sys.exit(problem)


def save(file: httpx.Response, folder: Path) -> Path:
    """Saves the file as a whole or not at all, under its own name made safe for a path."""
    named = re.search(r"filename\*=UTF-8''([^;]+)", file.headers.get("Content-Disposition", ""))
    name = unquote(named[1]) if named else ""
    name = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*]', "_", name).strip(" .") or "signed.pdf"
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{os.getpid()}.part"
    try:
        part.write_bytes(file.content)
    except OSError as exc:  # of a full disk, which does not name the file
        sys.exit(f"{part}: {exc.strerror}")
    return part.replace(folder / name)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("document_id", metavar="DOCUMENT_ID")
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=Path("attachments"))
    options = parser.parse_args()
    if missing := [name for name in ("DTD_BASE_URL", "DTD_API_KEY") if not os.environ.get(name)]:
        sys.exit(f"Set {' and '.join(missing)}; see --help.")
    base, key = os.environ["DTD_BASE_URL"], os.environ["DTD_API_KEY"].strip()
    if not (key.isascii() and key.isprintable()):
        sys.exit("DTD_API_KEY has a character that is in no key; copy it again.")
    try:
        id = str(UUID(options.document_id))  # one spelling: it is part of two paths
    except ValueError:
        sys.exit("DOCUMENT_ID must be a UUID.")
    try:
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            print(save(download(api, f"/api/v1/documents/{id}/download"), options.to / id))
    except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")


if __name__ == "__main__":
    main()
