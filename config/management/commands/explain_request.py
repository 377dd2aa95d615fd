"""explain_request: why a request was refused, from the log and the database."""

import fileinput
import json
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from django.core.management.base import BaseCommand, CommandError

from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from config.api.errors import DocumentNotFound
from config.refusals import RefusedPath
from documents.refusals import explain_missing

Line = dict[str, Any]


class Command(BaseCommand):
    help = (
        "Explains why a request was refused. It reads the service's log, which must be JSON "
        "(LOG_FORMAT=json), and nginx's access log if that is given too, and looks up in the "
        "database what a log does not say: keys and documents as they are now. With systemd: "
        "journalctl -o cat -u 'documents-api@*' | python manage.py explain_request REQUEST_ID"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("request_id", help="the header Request-Id of the response")
        parser.add_argument(
            "--log",
            nargs="+",
            default=[],
            metavar="FILE",
            help="files of the log, also compressed ones (.gz); otherwise, standard input is read",
        )

    def handle(self, *, request_id: str, log: list[str], **options: Any) -> None:
        try:
            with fileinput.input(log, openhook=fileinput.hook_compressed, encoding="utf-8") as text:
                found = list(lines_of(request_id, text))
        except OSError as exc:
            raise CommandError(f"The log cannot be read: {exc}") from exc
        if not found:
            raise CommandError(
                f"The log has no request {request_id}. Check that the log is of that time and of "
                "the instance that responded, and that it is JSON (LOG_FORMAT=json)."
            )
        for line in found:
            self.stdout.write(f"{line['time']} {summary(line)}")
        ended = [line for line in found if "status" in line]
        # The application's line says more than nginx's.
        for line in [line for line in ended if "reason" in line] or ended[:1]:
            for name in ("client_address", "user_agent", "key_prefix", "workspace_id", "reason"):
                self.stdout.write(f"{name}: {line.get(name) or '-'}")
            for sentence in explain(line):
                self.stdout.write(sentence)


def summary(line: Line) -> str:
    """A line of the log on one line; nginx's have no message."""
    if "message" in line:
        return f"{line['level']} {line['message']}"
    return f"nginx {line['method']} {line['path']} {line['status']}"


def lines_of(request_id: str, log: Iterable[str]) -> Iterator[Line]:
    """The objects of the log that belong to the request."""
    for text in log:
        if request_id not in text:
            continue
        try:
            line = json.loads(text)
        except ValueError:  # text, or cut short
            continue
        if isinstance(line, dict) and line.get("request_id") == request_id:
            yield line


def explain(access: Line) -> Iterator[str]:
    """What the database says about a refusal; nothing if the reason in the log says all."""
    if "reason" not in access:
        yield "nginx has responded itself: the request did not reach the application."
    elif access["status"] == 401 and access["key_prefix"]:
        yield from about_key(access["key_prefix"])
    elif access["status"] == 404 and access["reason"] == DocumentNotFound.text:
        refused = RefusedPath(access["path"], UUID(access["workspace_id"]))
        yield explain_missing([refused])[0].text


def about_key(prefix: str) -> Iterator[str]:
    """What has become of the keys with these first characters."""
    keys = ApiKey.objects.filter(prefix=prefix).select_related("workspace")
    deleted = AuditEntry.objects.filter(action=Action.KEY_DELETED, key_prefix=prefix)
    for key in keys:
        yield f"The key “{key.name}” of the workspace “{key.workspace.name}” {state_now(key)}."
    for entry in deleted:
        yield (
            f"The key “{entry.key_name}” of the workspace “{entry.workspace_name}” was deleted at "
            f"{entry.created_at:%Y-%m-%d %H:%M:%S} UTC by {entry.person}."
        )
    if not keys and not deleted:
        yield f"No key of this service begins with {prefix}."


def state_now(key: ApiKey) -> str:
    """The end of the sentence about a key that begins as the one in the request."""
    if key.revoked_at:
        return f"was revoked at {key.revoked_at:%Y-%m-%d %H:%M:%S} UTC"
    if key.state.has_ended:
        return f"expired at {key.expires_at:%Y-%m-%d %H:%M:%S} UTC"
    return "is active: the rest of the key in the request was not the same"
