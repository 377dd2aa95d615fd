"""The command dtd: reads the documents of a workspace, and keeps copies of its agreements."""

import argparse
import codecs
import inspect
import io
import logging
import os
import re
import signal
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn, get_args

from dtd.client import Client
from dtd.command import follow, output, pull, serve
from dtd.download import home, in_utf8
from dtd.errors import Error
from dtd.models import DocumentStatus, RecipientStatus
from dtd.version import VERSION

ABOUT = """\
environment:
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…
  DTD_BASE_URL  address of the service, without /api/v1: https://…
  HTTPS_PROXY, NO_PROXY, SSL_CERT_FILE: a proxy, and PEM certificates to trust

exit status:
  0 done   1 failed, or some of it failed   2 wrong usage   3 refused by the API
  75 another run copies to the same target   130 interrupted
"""
SECRETS = "/run/secrets"  # where containers have them


def me(client: Client, options: argparse.Namespace) -> None:
    """Show the workspace and the key, with document counts.

    example: dtd me
    """
    found = client.me()
    row = {"workspace": found.workspace.name, "key": found.key.name}
    counts = {name: str(count) for name, count in found.raw["documents"].items()}
    output.show([(found.raw, row | counts | {"id": found.workspace.id})], options)


def search(client: Client, options: argparse.Namespace) -> None:
    """List documents, newest first, or find them by status, times, recipients and title.

    TIME is a day of UTC such as 2026-07-01, or a date-time with its offset.

    example:
      dtd search --completed-from 2026-07-01 --json
      dtd ls --status COMPLETED --limit 20
    """
    names = [option[2:].replace("-", "_") for option in SEARCH]
    parameters = {name: getattr(options, name) for name in names}
    # In the order of the time that is asked for.
    asked = (time for time in SORTS if parameters[f"{time}_from"] or parameters[f"{time}_before"])
    parameters["sort"] = options.sort or next(asked, None)
    found = client.search(limit=options.limit, **parameters)
    output.show(map(output.document_row, found), options)


def get(client: Client, options: argparse.Namespace) -> None:
    """Show one document, or download its PDF.

    example: dtd get 5d7f… --to . --type signed
    """
    if options.to:
        print(in_utf8(client.download(options.id, type=options.type, to=options.to)))
    else:
        print(output.as_json(client.document(options.id).raw, indent=2))


def waiting(client: Client, options: argparse.Namespace) -> None:
    """List who still has to sign or approve, and since when.

    example: dtd waiting --csv >waiting.csv
    """
    found = client.search(status=["SENT", "VIEWED", "PARTIALLY_SIGNED"])
    rows = [row for document in found for row in output.waiting_rows(document)]
    rows.sort(key=lambda row: (row["since"] or "later", row["document"], row["name"]))
    output.show([(row, row) for row in rows], options)


def verify(options: argparse.Namespace) -> int:
    """Check the evidence file of a document, offline.

    example: dtd verify evidence.json --key NAME+HASH+KEY --file signed.pdf
    """
    from dtd import verify_evidence  # which anybody can run without this package

    files = [word for file in options.file for word in ("--file", file)]
    words = [options.evidence, "--key", options.key, *files]
    return min(verify_evidence.main(words, "dtd verify"), 1)  # here, 3 is a refusal of the API


def completion(options: argparse.Namespace) -> None:
    """Print the completion for a shell.

    example: eval "$(dtd completion bash)"
    """
    from argcomplete.shell_integration import shellcode

    print(shellcode(["dtd"], shell=options.shell))


def path(text: str) -> str:
    """The path or URL of an argument. An empty one, of a variable that is not set, is no folder."""
    if not text:
        raise argparse.ArgumentTypeError("it is empty")
    return str(home(text)) if text.startswith("~") else text


SORTS = ["created", "completed", "expires"]
SEARCH: dict[str, dict[str, Any]] = {
    "--status": {"choices": get_args(DocumentStatus), "action": "append"},
    **{
        f"--{time}-{end}": {"metavar": "TIME"}
        for time in ("created", "sent", "completed", "expires")
        for end in ("from", "before")
    },
    "--recipient": {"metavar": "EMAIL"},
    "--recipient-status": {"choices": get_args(RecipientStatus)},
    "--title": {"metavar": "WORDS", "help": "beginnings of words of the title"},
    "--sort": {"choices": SORTS, "help": "newest first; default: by the time that is asked for"},
}
FILE: dict[str, Any] = {"type": path, "metavar": "FILE"}
OPTIONS = SEARCH | {
    "--key-file": FILE | {"help": "the key, with mode 600; - is standard input"},
    "--insecure": {"action": "store_true", "help": "allow http://, where others can read the key"},
    "--ca-file": FILE | {"help": "PEM certificates to trust; default: SSL_CERT_FILE"},
    "--json": {"action": "store_true", "help": "one JSON object a line"},
    "--csv": {"action": "store_true"},
    "--limit": {"type": int, "metavar": "N", "help": "at most N; all without it"},
    "id": {"metavar": "ID"},
    "--to": FILE | {"metavar": "PATH", "help": "download to this folder or file"},
    "--type": {"help": "signed, original or certificate; of an event: document.completed, …"},
    "target": FILE | {"metavar": "TARGET", "help": "a folder or s3://BUCKET/PREFIX"},
    "--state": FILE | {"help": "default: TARGET/SHA256SUMS"},
    "--sse": {"choices": ["AES256", "aws:kms"], "help": "how the bucket encrypts the files"},
    "--after": {"default": "now", "metavar": "CURSOR", "help": "default: from now"},
    "--forward": {"metavar": "URL", "required": True},
    "--folder": FILE | {"metavar": "DIR", "required": True, "help": "for its downloads"},
    "evidence": FILE | {"metavar": "EVIDENCE"},
    "--key": {"metavar": "NAME+HASH+KEY", "required": True, "help": "the public key"},
    "--file": FILE | {"metavar": "PDF", "action": "append", "default": []},
    "shell": {"choices": ["bash", "zsh", "fish"]},
}
SERVICE = ("--key-file", "--insecure")
COMMANDS: dict[Callable[..., int | None], Iterable[str]] = {
    me: [*SERVICE, "--json", "--csv"],
    search: [*SEARCH, "--limit", *SERVICE, "--json", "--csv"],
    get: ["id", "--to", "--type", *SERVICE],
    waiting: [*SERVICE, "--json", "--csv"],
    pull.pull: ["target", "--state", "--sse", *SERVICE],
    follow.watch: ["--after", "--type", *SERVICE, "--json"],
    follow.listen: ["--forward", "--ca-file", "--after", "--type", *SERVICE],
    serve.mcp: ["--folder", *SERVICE],
    verify: ["evidence", "--key", "--file"],
    completion: ["shell"],
}
ENDING = (pull.pull, follow.watch, follow.listen)  # they have something to remove or say at the end


class Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """Ends the program; a key that was given as an argument is not printed."""
        super().error(re.sub(r"dtd_\w+", "dtd_…", message))


def parser() -> Parser:
    raw = argparse.RawDescriptionHelpFormatter
    made = Parser("dtd", description=__doc__, epilog=ABOUT, formatter_class=raw)
    made.add_argument("--version", action="version", version=f"dtd {VERSION}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    for run, names in COMMANDS.items():
        text = inspect.getdoc(run) or ""
        command = commands.add_parser(
            run.__name__,
            aliases=["ls"] if run is search else [],
            help=text.partition(".\n")[0],
            description=text,
            formatter_class=raw,
            allow_abbrev=False,
        )
        command.set_defaults(run=run)
        for name in names:
            command.add_argument(name, **OPTIONS[name])
    return made


def key_from(file: str) -> str:
    """The key in the file, which others may not read."""
    if file != "-" and os.name == "posix" and Path(file).stat().st_mode & 0o077:
        # Of a secret that is mounted, nobody can change the mode.
        is_mounted = Path(file).absolute().is_relative_to(SECRETS)
        if not is_mounted and not os.statvfs(file).f_flag & os.ST_RDONLY:
            ways = f"chmod 600 {file}, or --key-file - <{file}"
            raise ValueError(f"Other users may read {file}, which has a key: {ways}")
    content = sys.stdin.buffer.readline() if file == "-" else Path(file).read_bytes()
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))  # of PowerShell
    key = content.decode("utf-16" if is_utf16 else "utf-8-sig", "replace").strip()
    if not re.fullmatch("[!-~]+", key):
        raise ValueError(f"--key-file {file}: there is no key in it, or not all of it is one.")
    return key


def terminate(number: int, frame: object) -> None:
    """Ends a command as Ctrl-C does, and then the process as the signal would have."""
    signal.signal(number, signal.SIG_DFL)
    raise KeyboardInterrupt(number)


def main(words: list[str] | None = None) -> None:
    """Runs a command, and ends the program with its exit status."""
    made = parser()
    if "_ARGCOMPLETE" in os.environ:
        import argcomplete

        argcomplete.autocomplete(made)
    options = made.parse_args(words)
    logging.getLogger("dtd").handlers = [output.LogHandler()]
    if isinstance(sys.stdout, io.TextIOWrapper):  # files and pipes get all letters
        encoding = None if sys.stdout.isatty() else "utf-8"
        sys.stdout.reconfigure(encoding=encoding, errors="backslashreplace")
    if options.run in ENDING:
        signal.signal(signal.SIGTERM, terminate)
    status, text = 0, ""
    try:
        if "key_file" in options:
            file, limits = options.key_file, serve.LIMITS if options.run is serve.mcp else {}
            with Client(file and key_from(file), insecure=options.insecure, **limits) as client:
                status = options.run(client, options)
        else:  # it needs no service
            status = options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, `head` for example, has enough
        os._exit(0)
    except KeyboardInterrupt as exc:
        if exc.args:
            os.kill(os.getpid(), *exc.args)
        status, text = 130, "Interrupted."
    except ImportError as exc:
        name = (exc.name or "").partition(".")[0]
        missing = f"{name} is missing: pip install {name}"
        status, text = 2, missing if name else f"HTTPS_PROXY or ALL_PROXY: {exc}"
    except OSError as exc:
        status, text = 1, f"{exc.filename or type(exc).__name__}: {exc.strerror or exc}"
    except ValueError as exc:
        status, text = 2, str(exc)
    except Error as exc:
        status, text = 3 if exc.is_refusal else 1, str(exc)
    if text:
        output.log(f"dtd: {text}")
    sys.exit(status)
