#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = ["httpx"]
# ///
"""Copies every completed agreement, its signed PDF and its certificate, to TARGET.

TARGET is a folder or s3://BUCKET/PREFIX. Each run, by cron for one, fetches what is new, and can
be interrupted at any time. STATE lists what has been copied: take a line out to have that file
again, and in a folder check all of it by `sha256sum --check SHA256SUMS`.

  DTD_BASE_URL  where the service is, without /api/v1: https://…
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…

For a bucket: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN if there is one,
AWS_REGION, and AWS_ENDPOINT_URL if it is not Amazon's.
"""

import argparse
import base64
import hashlib
import hmac
import os
import re
import sys
import time
from collections.abc import Callable, Generator, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

TRIES = 4
REGION = os.environ.get("AWS_REGION", "us-east-1")
CLEAR = "\r\x1b[K" if sys.stderr.isatty() else ""  # a terminal's line, for the progress bar


class Missing(SystemExit):
    """There is no such thing (404)."""


class Failed(SystemExit):
    """No try gave what was asked for; another thing may still be had."""


def ask(send: Callable[[], httpx.Response], *, for_file: bool = False) -> httpx.Response:
    """A good answer. Asks again where that may help, after the time that the service names.

    Raises:
        Missing, Failed, or SystemExit: there is none and will be none; each says why.
    """
    for attempt in range(1, TRIES + 1):
        seconds = str(attempt)
        try:
            answer = send()
        except (httpx.NetworkError, httpx.RemoteProtocolError, httpx.TimeoutException) as exc:
            problem = f"{exc.request.url}: {exc}."
        else:
            digest = base64.b64encode(hashlib.sha256(answer.content).digest()).decode()
            whole = answer.headers.get("Repr-Digest") == f"sha-256=:{digest}:"
            if answer.status_code == 200 and (whole or not for_file):
                return answer
            problem = f"{answer.url}: {answer.status_code}, and not what was asked for."
            if answer.status_code != 200 and "/json" in answer.headers.get("Content-Type", ""):
                problem = f"{answer.url}: {answer.json()['error']}"
            if answer.status_code == 404:
                raise Missing(problem)
            if answer.status_code not in (200, 429, 500, 502, 503, 504):
                raise SystemExit(problem)
            seconds = answer.headers.get("Retry-After", seconds)
        if attempt < TRIES:
            tell(f"{problem} Waiting {seconds} s.")
            time.sleep(int(seconds))
    raise Failed(problem)


def completed(api: httpx.Client) -> Iterator[dict[str, Any]]:
    """All completed documents. They come in the order of their creation, and one that was created
    long ago may have been completed today: a run that stopped at what it knows would miss it."""
    params = {"status": "COMPLETED", "limit": "100"}
    while True:
        page = ask(partial(api.get, "/api/v1/documents", params=params)).json()
        yield from page["data"]
        if page["nextCursor"] is None:
            return
        params["cursor"] = page["nextCursor"]


def into_folder(folder: Path, name: str, content: bytes) -> None:
    """Puts a file there as a whole or not at all, whatever happens."""
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{name}.part"
    with part.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    part.replace(folder / name)


def into_bucket(s3: httpx.Client, name: str, content: bytes) -> None:
    """Puts an object there; the store refuses content that is not what was signed."""
    ask(partial(s3.put, quote(name), content=content, headers={"Content-Type": "application/pdf"}))


class Signature(httpx.Auth):
    """AWS Signature Version 4."""

    requires_request_body = True

    def __init__(self) -> None:
        self.key_id = os.environ["AWS_ACCESS_KEY_ID"]
        self.secret = os.environ["AWS_SECRET_ACCESS_KEY"]
        self.token = os.environ.get("AWS_SESSION_TOKEN")

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        headers, now = request.headers, f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        content = hashlib.sha256(request.content).hexdigest()
        headers.update({"x-amz-date": now, "x-amz-content-sha256": content})
        if self.token:
            headers["x-amz-security-token"] = self.token
        names = sorted(name for name in headers if name == "host" or name.startswith("x-amz-"))
        lines = [request.method, request.url.raw_path.decode(), ""]
        lines += [*(f"{name}:{headers[name]}" for name in names), "", ";".join(names), content]
        asked = hashlib.sha256("\n".join(lines).encode()).hexdigest()
        scope = f"{now[:8]}/{REGION}/s3/aws4_request"
        key = f"AWS4{self.secret}".encode()
        for word in (*scope.split("/"), f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{asked}"):
            key = hmac.digest(key, word.encode(), "sha256")
        headers["Authorization"] = (
            f"AWS4-HMAC-SHA256 Credential={self.key_id}/{scope}, "
            f"SignedHeaders={';'.join(names)}, Signature={key.hex()}"
        )
        yield request


def copied(state: Path) -> set[str]:
    """The files that the state lists, each as "ID KIND.pdf". Half a last line does not count."""
    state.parent.mkdir(parents=True, exist_ok=True)
    state.touch()
    whole = state.read_bytes().rpartition(b"\n")[0]
    os.truncate(state, len(whole) + bool(whole))
    return {" ".join(line.split()[-2:]) for line in whole.decode().split("\n")}


def copy(api: httpx.Client, put: Callable[[str, bytes], None], state: Path) -> None:
    """Copies what the state does not list yet."""
    known, new, seen, failed, in_a_row = copied(state), 0, 0, 0, 0
    total = ask(partial(api.get, "/api/v1/me")).json()["data"]["documents"]["completed"]
    for seen, document in enumerate(completed(api), 1):
        title = re.sub(r'[\x00-\x1f\x7f-\x9f<>:"/\\|?*\s]+', " ", document["title"])
        title = title.encode(errors="ignore")[:120].decode(errors="ignore").strip(" .")
        for kind in ("signed", "certificate"):
            file = f"{document['id']} {kind}.pdf"
            if file in known:
                continue
            send = partial(api.get, document["links"]["download"], params={"type": kind})
            try:
                content = ask(send, for_file=True).content
            except Missing:  # deleted since it was listed
                continue
            except Failed as exc:  # one bad file must not keep the others from being copied
                tell(f"{file}: {exc}")
                failed, in_a_row = failed + 1, in_a_row + 1
                if in_a_row == 10:  # it is not the files
                    raise
                continue
            name = f"{document['completedAt'][:10]} {title or 'agreement'} {file}"
            put(name, content)
            with state.open("a", encoding="utf-8") as lines:  # after the file: none is lost
                lines.write(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
            new, in_a_row = new + 1, 0
        if CLEAR or seen % 100 == 0:
            bar = f"[{'#' * (30 * seen // max(seen, total)):30}] {seen} of {total} agreements"
            tell(f"{bar}, {new} new files", end="" if CLEAR else "\n")
    tell(f"{new} new files; {seen} agreements are completed.")
    if failed:
        sys.exit(f"Not copied: {failed}. The next run tries again.")


def tell(text: str, end: str = "\n") -> None:
    print(f"{CLEAR}{text}", end=end, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", metavar="TARGET")
    parser.add_argument(
        "--state", type=Path, help="TARGET/SHA256SUMS; for a bucket a file in this folder"
    )
    options = parser.parse_args()
    bucket = options.target.removeprefix("s3://").strip("/")
    in_bucket = options.target.startswith("s3://")
    needed = ["DTD_BASE_URL", "DTD_API_KEY"]
    needed += ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] if in_bucket else []
    if missing := [name for name in needed if not os.environ.get(name)]:
        sys.exit(f"Set {' and '.join(missing)}; --help says to what.")
    base, key = os.environ["DTD_BASE_URL"], os.environ["DTD_API_KEY"].strip()
    try:
        put: Callable[[str, bytes], None]
        if in_bucket:
            store = os.environ.get("AWS_ENDPOINT_URL", f"https://s3.{REGION}.amazonaws.com")
            url = f"{store.rstrip('/')}/{quote(bucket)}"
            put = partial(into_bucket, httpx.Client(base_url=url, auth=Signature(), timeout=60))
            state = Path(f"{quote(bucket, safe='')}.SHA256SUMS")
        else:
            put = partial(into_folder, Path(options.target))
            state = Path(options.target, "SHA256SUMS")
        headers = {"Authorization": f"Bearer {key}"}
        with httpx.Client(base_url=base, headers=headers, timeout=60) as api:
            copy(api, put, options.state or state)
    except KeyboardInterrupt:
        sys.exit("Interrupted; the next run goes on from here.")
    except (OSError, ValueError, httpx.HTTPError, httpx.InvalidURL) as exc:
        sys.exit(f"{type(exc).__name__}: {exc}")
    finally:
        tell("", end="")


if __name__ == "__main__":
    main()
