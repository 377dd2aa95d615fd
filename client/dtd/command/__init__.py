"""The command dtd: reads the documents of a workspace, and keeps copies of its agreements."""

import argparse
import json
import logging
import os
import re
import sys
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NoReturn, get_args

from dtd.client import Client
from dtd.command import follow, output, pull, serve
from dtd.errors import APIError, Error
from dtd.models import DocumentStatus, EventType, RecipientStatus
from dtd.version import VERSION

ABOUT = """\
environment:
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…
  DTD_BASE_URL  address of the service, without /api/v1: https://…
  HTTPS_PROXY, SSL_CERT_FILE: a proxy, and PEM certificates to trust

exit status:
  0 done   1 failed, or some of it failed   2 wrong usage   3 refused by the API
  75 another run copies to the same target   130 interrupted
"""

TIMES = [f"{time}_{end}" for time in ("created", "sent", "completed", "expires")
         for end in ("from", "before")]  # fmt: skip
SORTS = ["created", "completed", "expires"]
SEARCH = ["status", *TIMES, "recipient", "recipient_status", "title", "sort"]

EXTRAS = {"standardwebhooks": "webhooks"}  # of a missing module, unless it has the same name


def me(client: Client, options: argparse.Namespace) -> None:
    found = client.me()
    row = {"workspace": found.workspace.name, "key": found.key.name}
    counts = {name: str(count) for name, count in found.raw["documents"].items()}
    output.show([(found.raw, row | counts | {"id": found.workspace.id})], options)


def ls(client: Client, options: argparse.Namespace) -> None:
    page_size = min(options.limit or 100, 100)
    found = client.documents(status=options.status, page_size=page_size)
    output.show(map(output.document_row, islice(found, options.limit)), options)


def search(client: Client, options: argparse.Namespace) -> None:
    parameters = {name: getattr(options, name) for name in SEARCH}
    # By the time that is asked for: in another order, a search reads page after page.
    asked = [time for time in SORTS if parameters[f"{time}_from"] or parameters[f"{time}_before"]]
    parameters["sort"] = options.sort or (asked[0] if asked else None)
    found = client.search(page_size=min(options.limit or 100, 100), **parameters)
    output.show(map(output.document_row, islice(found, options.limit)), options)


def get(client: Client, options: argparse.Namespace) -> None:
    if options.to:
        print(client.download(options.id, type=options.type, to=options.to))
    else:
        print(json.dumps(client.document(options.id).raw, ensure_ascii=False, indent=2))


def waiting(client: Client, options: argparse.Namespace) -> None:
    rows = [row for document in client.documents() for row in output.waiting_rows(document)]
    rows.sort(key=lambda row: (row["since"] or "later", row["document"], row["name"]))
    if rows or options.json or options.csv:
        output.show([(row, row) for row in rows], options)
    else:
        print("Nobody has to sign anything.")


def verify(options: argparse.Namespace) -> int:
    """Runs the program that anybody can run without this package."""
    from dtd import verify_evidence

    words = [str(options.evidence), "--key", options.key]
    sys.argv = ["dtd verify", *words, *(word for file in options.file for word in ("--file", file))]
    try:
        verify_evidence.main()
    except SystemExit as exc:
        if exc.code == verify_evidence.NOTHING:  # here, 3 is a refusal of the API
            return 1
        raise
    return 0


def completion(options: argparse.Namespace) -> None:
    import argcomplete

    print(argcomplete.shellcode(["dtd"], shell=options.shell))


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Ends the program; a key that was given as an argument is not printed."""
        super().error(re.sub(r"dtd_\w+", "dtd_…", message))


def parser() -> Parser:
    raw = argparse.RawDescriptionHelpFormatter
    made = Parser("dtd", description=__doc__, epilog=ABOUT, formatter_class=raw)
    made.add_argument("--version", action="version", version=f"dtd {VERSION}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    service = Parser(add_help=False)
    service.add_argument("--base-url", metavar="URL", help="instead of DTD_BASE_URL")
    service.add_argument(
        "--key-file", metavar="FILE", help="the key, with mode 600; - is standard input"
    )
    service.add_argument(
        "--patience",
        type=float,
        default=120,
        metavar="SECONDS",
        help="how long to retry; 120 by default",
    )
    formats = Parser(add_help=False)
    either = formats.add_mutually_exclusive_group()
    either.add_argument("--json", action="store_true", help="one JSON object a line")
    either.add_argument("--csv", action="store_true")

    def add(run: Callable[..., int | None], text: str, example: str, *parents: Parser) -> Parser:
        command = commands.add_parser(
            run.__name__, help=text, description=f"{text[0].upper()}{text[1:]}.",
            epilog=f"example:\n  {example}", formatter_class=raw, parents=parents,
            allow_abbrev=False,
        )  # fmt: skip
        command.set_defaults(run=run, offline=service not in parents)
        return command

    add(me, "show the workspace and the key, with document counts", "dtd me", service, formats)
    command = add(
        ls, "list documents, newest first", "dtd ls --status COMPLETED --limit 20", service, formats
    )
    filters = [each for each in get_args(DocumentStatus) if each != "PARTIALLY_SIGNED"]
    command.add_argument("--status", choices=filters)
    command.add_argument("--limit", type=positive, metavar="N", help="at most N; all without it")
    text = "find documents by status, times, recipients and words of the title"
    command = add(search, text, "dtd search --completed-from 2026-07-01 --json", service, formats)
    command.add_argument("--status", choices=get_args(DocumentStatus), action="append")
    for name in TIMES:
        words = "this time or later" if name.endswith("from") else "before this time"
        command.add_argument(
            f"--{name.replace('_', '-')}", metavar="TIME", help=f"{words}: 2026-07-01, a day of UTC"
        )
    command.add_argument("--recipient", metavar="EMAIL")
    command.add_argument("--recipient-status", choices=get_args(RecipientStatus))
    command.add_argument("--title", metavar="WORDS", help="beginnings of words of the title")
    words = "newest first; by the first of these that is asked for, otherwise by creation"
    command.add_argument("--sort", choices=SORTS, help=words)
    command.add_argument("--limit", type=positive, metavar="N", help="at most N; all without it")
    command = add(
        get, "show one document, or download its PDF",
        "dtd get 5d7f… --to . --type signed", service,
    )  # fmt: skip
    command.add_argument("id", metavar="ID")
    command.add_argument("--to", metavar="PATH", help="download to this folder or file")
    command.add_argument("--type", choices=["signed", "original", "certificate"])
    text = "list who still has to sign or approve, and since when"
    add(waiting, text, "dtd waiting --csv >waiting.csv", service, formats)
    command = add(
        pull.pull, "copy what is completed: each signed PDF and certificate, once",
        "dtd pull ./archive\n"
        "  dtd pull s3://bucket/prefix   # needs: pip install 'dtd-client[s3]'",
        service,
    )  # fmt: skip
    command.add_argument("target", metavar="TARGET", help="a folder or s3://BUCKET/PREFIX")
    command.add_argument("--state", type=Path, metavar="FILE", help="default: TARGET/SHA256SUMS")
    for run, text, example in (
        (follow.watch, "print events as they come", "dtd watch --type document.completed"),
        (
            follow.listen, "forward events to a URL, signed like webhooks",
            "dtd listen --forward http://localhost:3000/hook",
        ),
    ):  # fmt: skip
        command = add(run, text, example, service)
        command.add_argument("--after", default="now", metavar="CURSOR", help="default: from now")
        command.add_argument("--type", choices=get_args(EventType)[:-1])
        command.add_argument(
            "--every", type=positive, default=5, metavar="SECONDS", help="5 by default"
        )
        if run is follow.watch:
            command.add_argument("--json", action="store_true", help="one JSON object a line")
        else:
            command.add_argument("--forward", metavar="URL", required=True)
    text = "serve the workspace, read-only, to a program of AI over standard input and output"
    command = add(serve.mcp, text, "dtd mcp --folder ~/agreements", service)
    command.add_argument("--folder", metavar="DIR", required=True, help="for its downloads")
    command = add(
        verify, "check the evidence file of a document, offline",
        "dtd verify evidence.json --key NAME+HASH+KEY --file signed.pdf",
    )  # fmt: skip
    command.add_argument("evidence", metavar="EVIDENCE", type=Path)
    command.add_argument("--key", metavar="NAME+HASH+KEY", required=True, help="the public key")
    command.add_argument("--file", metavar="PDF", action="append", default=[])
    text = "print the completion for a shell"
    command = add(completion, text, 'eval "$(dtd completion bash)"')
    command.add_argument("shell", choices=["bash", "zsh", "fish"])
    return made


def positive(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError("it must be 1 or more")
    return number


def key_from(file: str | None) -> str | None:
    """The key in the file; None without a file: the environment has it.

    Raises:
        ValueError: Others may read the file.
    """
    if file == "-":
        return sys.stdin.readline() or " "
    if file is None:
        return None
    if os.name == "posix" and Path(file).stat().st_mode & 0o077:
        raise ValueError(f"Other users may read {file}, which has a key: chmod 600 {file}")
    return Path(file).read_text(encoding="utf-8") or " "


def execute(options: argparse.Namespace) -> int:
    """Runs a command, and turns its errors into one sentence and an exit status."""
    if options.offline:
        return options.run(options) or 0
    try:
        key = key_from(options.key_file)
        client = Client(key, options.base_url, patience=options.patience)
    except (ValueError, OSError) as exc:
        output.log(f"dtd: {exc}")
        return 2
    try:
        with client:
            return options.run(client, options) or 0
    except APIError as exc:
        output.log(f"dtd: {output.sentence(exc)}")
        return 3 if 400 <= exc.status < 500 and exc.status != 429 else 1
    except ImportError as exc:
        name = (exc.name or "").partition(".")[0]
        output.log(f"dtd: {name} is missing: pip install 'dtd-client[{EXTRAS.get(name, name)}]'")
        return 2
    except ValueError as exc:
        output.log(f"dtd: {exc}")
        return 2
    except Error as exc:
        output.log(f"dtd: {exc}")
        return 1


def main(words: list[str] | None = None) -> None:
    made = parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(made)
    options = made.parse_args(words)
    logging.getLogger("dtd").handlers = [output.LogHandler()]
    try:
        status = execute(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        output.log("Interrupted.")
        status = 130
    except BrokenPipeError:  # the reader, `head` for example, has enough
        os._exit(0)
    except OSError as exc:
        output.log(f"dtd: {exc.filename or type(exc).__name__}: {exc.strerror or exc}")
        status = 1
    sys.exit(status)
