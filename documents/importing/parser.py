"""Reads JSON Lines: one object a line, one line at a time in memory."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator
from typing import IO, Any

from documents.importing.problems import Invalid, Problems, unquoted

BOM = b"\xef\xbb\xbf"
INTEGER_LENGTH = 20  # characters; a longer one fits no column
# Bytes. It bounds the memory of an import, and leaves 8 KB for each of the recipients that a
# document may have (`documents.importing.validation.MAX_RECIPIENTS`).
LINE_LENGTH = 8 * 1024 * 1024
ARRAY = "is a JSON array; write one object a line instead: jq -c '.[]' FILE > FILE.jsonl"


def lines(
    file: IO[bytes], problems: Problems, digest: "hashlib._Hash"
) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, each with its number; a line that is too long is a problem.

    Args:
        digest: gets all that is read, unless there is a problem.
    """
    number, first = 0, True
    while raw := file.readline(LINE_LENGTH + 1):
        digest.update(raw)
        number += 1
        line = raw.removeprefix(BOM) if number == 1 else raw
        if first and line.lstrip().startswith(b"["):
            problems.add(number, ARRAY)
            return
        if len(raw) > LINE_LENGTH:
            problems.add(number, f"is longer than {LINE_LENGTH:,} bytes")
            while raw and not raw.endswith(b"\n"):
                raw = file.readline(LINE_LENGTH)
        elif line.strip():
            first = False
            yield number, line.rstrip(b"\r\n")


def parse(line: bytes) -> dict[str, Any]:
    """The JSON object of a line; Invalid if it has none, or an object in it has a field twice."""
    try:
        value = json.loads(line.decode(), object_pairs_hook=fields, parse_int=_integer)
    except UnicodeDecodeError:
        raise Invalid("is not UTF-8") from None
    except json.JSONDecodeError as exc:
        raise Invalid(f"column {exc.colno} is not JSON: {exc.msg}") from None
    except RecursionError:
        raise Invalid("is nested too deeply") from None
    if not isinstance(value, dict):
        raise Invalid("is not a JSON object")
    return value


def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object's fields by name; Invalid if two have the same name. (JSON decoders allow it.)"""
    value = dict(pairs)
    if len(value) < len(pairs):
        [(name, _)] = Counter(name for name, _ in pairs).most_common(1)
        raise Invalid(f"the field {unquoted(name)} is given twice")
    return value


def _integer(text: str) -> int | float:
    # Python refuses to read thousands of digits. No field accepts a float.
    return int(text) if len(text) <= INTEGER_LENGTH else float(text)
