"""explain_request: why a request was refused, from the log and the database."""

import fileinput
import json
import re
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from typing import Any
from urllib.parse import unquote

from django.core.management.base import BaseCommand, CommandError

from apikeys.models import ApiKey
from audit.models import Action, AuditEntry
from config.api.errors import DocumentNotFound
from documents.api.queries import document_id
from documents.models import Document

Line = dict[str, Any]

_DOCUMENT_PATH = re.compile(r"/api/v1/documents/([^/]+)(?:/download)?")


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
        yield about_document(access["path"], access["workspace_id"])


def about_key(prefix: str) -> Iterator[str]:
    """What has become of the keys with these first characters."""
    keys = ApiKey.objects.filter(prefix=prefix).select_related("workspace")
    deleted = AuditEntry.objects.filter(action=Action.KEY_DELETED, key_prefix=prefix)
    for key in keys:
        is_now = (
            f"was revoked at {key.revoked_at:%Y-%m-%d %H:%M:%S} UTC"
            if key.revoked_at
            else "is active: the rest of the key in the request was not the same"
        )
        yield f"The key “{key.name}” of the workspace “{key.workspace.name}” {is_now}."
    for entry in deleted:
        yield (
            f"The key “{entry.key_name}” of the workspace “{entry.workspace_name}” was deleted at "
            f"{entry.created_at:%Y-%m-%d %H:%M:%S} UTC by {entry.person}."
        )
    if not keys and not deleted:
        yield f"No key of this service begins with {prefix}."


def about_document(path: str, workspace_id: str) -> str:
    """What is known of the document of a path, for a key of this workspace."""
    match = _DOCUMENT_PATH.fullmatch(unquote(path))
    try:
        id = document_id(match[1] if match else "")
    except DocumentNotFound:
        return "The id in the path is malformed: it must be a UUID of 36 characters."
    document = Document.objects.filter(pk=id).select_related("workspace").first()
    if document is None:
        return "No document has this id."
    if str(document.workspace_id) != workspace_id:
        return (
            f"The document belongs to another workspace: “{document.workspace.name}” "
            f"({document.workspace_id})."
        )
    if document.deleted_at:
        return f"The document was deleted at {document.deleted_at:%Y-%m-%d %H:%M:%S} UTC."
    return "The document exists now: it was created or restored after the request."
