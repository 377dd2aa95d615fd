"""One document of the file: what it says, and everything that is wrong with it by itself."""

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

from documents.api.parameters import FILE_TYPES
from documents.importing.files import CheckedFile, Folder
from documents.importing.problems import Place, Problems, bare, shown
from documents.importing.reading import Entry
from documents.importing.rules import (
    DOCUMENT_RULES,
    RECIPIENT_RULES,
    Refused,
    read_fields,
    read_text,
)
from documents.models import Document

DOCUMENT_FIELDS = {*DOCUMENT_RULES, "recipients", "files", "progress", "links"}
PATH_LENGTH = 4096  # characters


@dataclass
class Record:
    """A document as it will be stored; not complete when there were problems.

    Attributes:
        line: of the file.
        label: what problems call the document.
        columns: of the document, by the column's name.
        recipients: the columns of each.
        files: by type.
        given_ids: the ids that the file states, by field; the others were made here.
    """

    line: int
    label: str
    columns: dict[str, Any] = field(default_factory=dict)
    recipients: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, CheckedFile] = field(default_factory=dict)
    given_ids: dict[str, UUID] = field(default_factory=dict)

    def place(self, problems: Problems) -> Place:
        """Where problems of this document are noted."""
        return Place(problems, self.line, self.label)


def check(entry: Entry, folder: Folder, problems: Problems) -> Record:
    """Reads one entry; everything that is wrong with it is noted in `problems`."""
    value = entry.value
    record = Record(entry.line, _label(value))
    place = record.place(problems)
    _refuse_unknown(value, DOCUMENT_FIELDS, place)
    record.columns = read_fields(value, DOCUMENT_RULES, place)
    _settle_id(record, record.columns, "id")
    for path, recipient in _objects(value, "recipients", place):
        _refuse_unknown(recipient, RECIPIENT_RULES, place, f"{path}.")
        columns = read_fields(recipient, RECIPIENT_RULES, place, f"{path}.")
        _settle_id(record, columns, f"{path}.id")
        record.recipients.append(columns)
    _check_files(value, record, folder, place)
    _compare_with_original(record, place)
    if _completed(record) and record.columns.get("completed_at", "refused") is None:
        place.add("completedAt", "is missing; a COMPLETED document has it")
    return record


def _label(value: dict[str, Any]) -> str:
    for name in ("id", "title"):
        if isinstance(value.get(name), str):
            return f"document {bare(value[name])}"
    return "a document without id and title"


def _completed(record: Record) -> bool:
    return record.columns.get("status") == Document.Status.COMPLETED


def _refuse_unknown(
    value: dict[str, Any], known: Collection[str], place: Place, prefix: str = ""
) -> None:
    # A field that is spelled wrong would be lost without a word.
    for name in value:
        if name not in known:
            place.add(prefix + bare(name), "is not a field")


def _settle_id(record: Record, columns: dict[str, Any], path: str) -> None:
    if "id" in columns:
        record.given_ids[path] = columns["id"]
    else:
        columns["id"] = uuid4()


def _objects(value: dict[str, Any], name: str, place: Place) -> list[tuple[str, dict[str, Any]]]:
    """The objects of a list, each with its path."""
    if name not in value:
        place.add(name, "is missing")
        return []
    if not isinstance(value[name], list):
        place.add(name, "takes a list of objects")
        return []
    found = []
    for number, item in enumerate(value[name]):
        if isinstance(item, dict):
            found.append((f"{name}[{number}]", item))
        else:
            place.add(f"{name}[{number}]", "takes an object")
    return found


def _check_files(value: dict[str, Any], record: Record, folder: Folder, place: Place) -> None:
    given = value.get("files", {})
    if not isinstance(given, dict):
        place.add("files", f"takes an object with {', '.join(FILE_TYPES)}")
        return
    _refuse_unknown(given, FILE_TYPES, place, "files.")
    for file_type in FILE_TYPES:
        path = f"files.{file_type}"
        name = given.get(file_type)
        if name is None:
            if file_type == "original":
                place.add(path, "is missing")
            elif _completed(record):
                place.add(path, "is missing; a COMPLETED document has it")
            continue
        if file_type != "original" and "status" in record.columns and not _completed(record):
            place.add(path, "is there; only a COMPLETED document has it")
        try:
            checked = folder.check(read_text(PATH_LENGTH, name))
        except Refused as exc:
            place.add(path, str(exc))
            continue
        if isinstance(checked, CheckedFile):
            record.files[file_type] = checked
        else:
            place.add(path, f"{shown(name)} {checked}")


def _compare_with_original(record: Record, place: Place) -> None:
    """Takes page count and size from the original, or notes where the file says otherwise."""
    original = record.files.get("original")
    if original is None:
        return
    for column, name, actual in (
        ("page_count", "pageCount", original.pages),
        ("file_size", "fileSize", original.size),
    ):
        given = record.columns.setdefault(column, actual)
        if given != actual:
            place.add(name, f"is {given}, but the original has {actual}")
