#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx"]
# ///
"""Copies every completed agreement, its signed PDF and its certificate, to TARGET.

TARGET is a folder or s3://BUCKET/PREFIX. Each run, from cron for example, copies what is new; it
can be interrupted at any time. STATE lists the copied files. Remove a line to copy that file again;
in a folder, `sha256sum --check SHA256SUMS` checks all of them.

  DTD_BASE_URL  address of the service, without /api/v1: https://…
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…

A bucket needs boto3. It reads AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN (or a
profile, or a role), AWS_REGION, and AWS_ENDPOINT_URL if the bucket is not Amazon's.
"""

import argparse
import base64
import hashlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

CLEAR = "\r\x1b[K" if sys.stderr.isatty() else ""  # clears a terminal's line, for the progress bar


class Missing(SystemExit):
    """The service has no such document (404)."""


class Failed(SystemExit):
    """Every try failed; another request may still succeed."""


def sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def problem_with(response: httpx.Response, *, is_file: bool) -> str:
    """Describes why the response is not what was requested; empty if it is."""
    if response.status_code != 200:
        is_json = response.headers.get("Content-Type") == "application/json"
        return f"{response.url}: {response.json()['error'] if is_json else response.status_code}"
    digest = f"sha-256=:{sha256(response.content)}:"
    whole = not is_file or response.headers.get("Repr-Digest") == digest
    return "" if whole else f"{response.url}: The file is damaged: its digest differs."


def get(api: httpx.Client, path: str, **params: str) -> httpx.Response:
    """Returns a good response. Retries if that can help, after the time that the service names.

    Raises:
        Missing, Failed, or SystemExit: There is none; each has a message.
    """
    for seconds in (1, 2, 3, 0):  # no wait after the last try
        try:
            response = api.get(path, params=params)
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as exc:
            problem = f"{exc.request.url}: {exc}."
        else:
            problem = problem_with(response, is_file="type" in params)
            if not problem:
                return response
            if response.status_code == 404:
                raise Missing(problem)
            if response.status_code not in (200, 429, 500, 502, 503, 504):
                raise SystemExit(problem)
            seconds = seconds and int(response.headers.get("Retry-After", seconds))
        if seconds:
            log(f"{problem} Waiting {seconds} s.")
            time.sleep(seconds)
    raise Failed(problem)


def completed(api: httpx.Client) -> Iterator[dict[str, Any]]:
    """Lists all completed documents, newest first by their creation. One that was created long ago
    may have been completed today, so a run must not stop at the first document that it knows."""
    params = {"status": "COMPLETED", "limit": "100"}
    while True:
        page = get(api, "/api/v1/documents", **params).json()
        yield from page["data"]
        if page["nextCursor"] is None:
            return
        params["cursor"] = page["nextCursor"]


def save_in_folder(folder: Path, name: str, content: bytes) -> None:
    """Saves a file as a whole or not at all, whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{name}.part"
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / name)


def bucket(url: str) -> Callable[[str, bytes], None]:
    """Returns a function that saves an object; S3 refuses content that arrives damaged."""
    try:
        import boto3
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError, ClientError

        config = Config(region_name=os.environ.get("AWS_REGION"), s3={"addressing_style": "path"})
        s3 = boto3.client("s3", config=config)
    except ImportError:
        sys.exit("A bucket needs boto3: pip install boto3")
    except BotoCoreError as exc:
        sys.exit(f"s3://{url}: {exc}")
    name, _, prefix = url.partition("/")

    def save(file: str, content: bytes) -> None:
        try:
            s3.put_object(
                Bucket=name,
                Key=f"{prefix}/{file}".lstrip("/"),
                Body=content,
                ChecksumSHA256=sha256(content),
                ContentType="application/pdf",
            )
        except (BotoCoreError, ClientError) as exc:
            sys.exit(f"s3://{url}: {exc}")

    return save


def copied(state: Path) -> set[str]:
    """Reads which files the state lists, each as "ID KIND.pdf". Removes half a last line."""
    state.parent.mkdir(parents=True, exist_ok=True)
    state.touch()
    whole = state.read_bytes().rpartition(b"\n")[0]
    os.truncate(state, len(whole) + bool(whole))
    return {" ".join(line.split()[-2:]) for line in whole.decode().split("\n")}


def copy(api: httpx.Client, save: Callable[[str, bytes], None], state: Path) -> None:
    """Copies what the state does not list yet."""
    known, new, seen, failed, in_a_row = copied(state), 0, 0, 0, 0
    total = get(api, "/api/v1/me").json()["data"]["documents"]["completed"]
    for seen, document in enumerate(completed(api), 1):
        title = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\s]+', " ", document["title"])
        title = title.encode(errors="ignore")[:120].decode(errors="ignore").strip(" .")
        for kind in ("signed", "certificate"):
            file = f"{document['id']} {kind}.pdf"
            if file in known:
                continue
            try:
                content = get(api, document["links"]["download"], type=kind).content
            except Missing:  # deleted since it was listed
                continue
            except Failed as exc:  # one bad file must not stop the others
                log(f"{file}: {exc}")
                failed, in_a_row = failed + 1, in_a_row + 1
                if in_a_row == 10:  # the files are not the cause
                    raise
                continue
            name = f"{document['completedAt'][:10]} {title or 'agreement'} {file}"
            save(name, content)
            with state.open("a", encoding="utf-8") as lines:  # after the file, so none is lost
                lines.write(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
            new, in_a_row = new + 1, 0
        if CLEAR or seen % 100 == 0:
            bar = f"[{'#' * (30 * seen // max(seen, total)):30}] {seen} of {total} agreements"
            log(f"{bar}, {new} new files", end="" if CLEAR else "\n")
    log(f"{new} new files; {seen} agreements are completed.")
    if failed:
        sys.exit(f"Not copied: {failed}. The next run tries again.")


def log(text: str, end: str = "\n") -> None:
    print(f"{CLEAR}{text}", end=end, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument(
        "--state", type=Path, help="TARGET/SHA256SUMS; for a bucket, a file in the current folder"
    )
    options = parser.parse_args()
    if missing := [name for name in ("DTD_BASE_URL", "DTD_API_KEY") if not os.environ.get(name)]:
        sys.exit(f"Set {' and '.join(missing)}; see --help.")
    base, key = os.environ["DTD_BASE_URL"], os.environ["DTD_API_KEY"].strip()
    try:
        if options.target.startswith("s3://"):
            url = options.target.removeprefix("s3://").strip("/")
            save = bucket(url)
            state = Path(f"{quote(url, safe='')}.SHA256SUMS")
        else:
            save = partial(save_in_folder, Path(options.target))
            state = Path(options.target, "SHA256SUMS")
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            copy(api, save, options.state or state)
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next run goes on from here.")
    except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")
    finally:
        log("", end="")


if __name__ == "__main__":
    main()
