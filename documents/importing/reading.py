"""The JSON objects of a file, each with the line it begins on."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from documents.importing.problems import Problems, bare

BOM = b"\xef\xbb\xbf"
INTEGER_LENGTH = 20  # characters; a longer one fits no column

_WHITE_SPACE = re.compile(r"[ \t\r\n]*")


@dataclass(frozen=True)
class Entry:
    """One document as the file has it."""

    line: int
    value: dict[str, Any]


class Unreadable(Exception):
    """The text is no JSON from here on.

    Attributes:
        line: where.
    """

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line = line


def _integer(text: str) -> int | float:
    # Python refuses to read thousands of digits. Where an integer is wanted no float is taken.
    return int(text) if len(text) <= INTEGER_LENGTH else float(text)


class _Scan:
    """Walks through a text from JSON value to JSON value, and knows its line."""

    def __init__(self, content: bytes, line: int) -> None:
        try:
            self.text = content.decode()
        except UnicodeDecodeError as exc:
            bad = line + content.count(b"\n", 0, exc.start)
            raise Unreadable(bad, "is not UTF-8") from None
        self.line = line
        self.position = 0
        self.repeated: list[str] = []  # field names that the last value has twice
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_int=_integer)

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = dict(pairs)
        if len(value) < len(pairs):
            names = [name for name, _ in pairs]
            self.repeated += [name for name in value if names.count(name) > 1]
        return value

    def _move(self, position: int) -> None:
        self.line += self.text.count("\n", self.position, position)
        self.position = position

    def ahead(self) -> str:
        """The next character that is no white space; "" at the end."""
        space = _WHITE_SPACE.match(self.text, self.position)
        self._move(space.end() if space else self.position)
        return self.text[self.position : self.position + 1]

    def skip(self) -> None:
        """Passes the character ahead."""
        self._move(self.position + 1)

    def value(self) -> Any:
        """The value ahead."""
        self.repeated.clear()
        try:
            value, end = self._decoder.raw_decode(self.text, self.position)
        except json.JSONDecodeError as exc:
            raise self.unreadable(exc.msg, exc.pos) from None
        except RecursionError:
            raise Unreadable(self.line, "is nested too deeply") from None
        self._move(end)
        return value

    def unreadable(self, text: str, position: int) -> Unreadable:
        """The problem that `text` names, at a position that is not before this one."""
        self._move(position)
        column = position - self.text.rfind("\n", 0, position)
        return Unreadable(self.line, f"column {column} is not JSON: {text}")


class Reader:
    """Reads the entries of a file in order; what is no JSON object is noted as a problem.

    Of objects on lines of their own, one line at a time is in memory; of an array its whole text,
    and one object at a time.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def read(self, file: IO[bytes]) -> Iterator[Entry]:
        """The entries of a file that is open for reading bytes."""
        begun = False
        for line, raw in enumerate(file, 1):
            content = raw.removeprefix(BOM) if line == 1 else raw
            if not content.strip():
                continue
            try:
                if not begun and content.lstrip().startswith(b"["):
                    yield from self._array(_Scan(content + file.read(), line))
                else:
                    yield from self._only(_Scan(content, line))
            except Unreadable as exc:
                self.problems.add(exc.line, str(exc))
            begun = True

    def _array(self, scan: _Scan) -> Iterator[Entry]:
        scan.ahead()
        scan.skip()
        more = scan.ahead() != "]"
        while more:
            yield from self._entry(scan)
            more = scan.ahead() == ","
            if more:
                scan.skip()
                scan.ahead()
        if scan.ahead() != "]":
            raise scan.unreadable("Expecting ',' or ']'", scan.position)
        scan.skip()
        self._end(scan)

    def _only(self, scan: _Scan) -> Iterator[Entry]:
        scan.ahead()
        yield from self._entry(scan)
        self._end(scan)

    def _entry(self, scan: _Scan) -> Iterator[Entry]:
        line = scan.line
        value = scan.value()
        for name in scan.repeated:
            self.problems.add(line, f"the field {bare(name)} is given twice")
        if isinstance(value, dict):
            yield Entry(line, value)
        else:
            self.problems.add(line, "is not a JSON object")

    def _end(self, scan: _Scan) -> None:
        if scan.ahead():
            raise scan.unreadable("something follows its end", scan.position)
