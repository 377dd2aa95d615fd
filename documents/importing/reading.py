"""The JSON objects of a file, each with the line it begins on."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from documents.importing.problems import Problems, bare
from documents.importing.scanning import CHUNK, Scan, Unreadable

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Entry:
    """One document as the file has it."""

    line: int
    value: dict[str, Any]


class Reader:
    """Reads the entries of a file in order; what is no JSON object is noted as a problem.

    However long the file is, little more than one object at a time is in memory.
    """

    def __init__(self, problems: Problems) -> None:
        self.problems = problems

    def read(self, file: IO[bytes]) -> Iterator[Entry]:
        """The entries of a file that is open for reading bytes."""
        begun, line = False, 1
        while raw := file.readline(-1 if begun else CHUNK):  # an array may be one long line
            content = raw.removeprefix(BOM) if line == 1 else raw
            if content.strip():
                is_array = not begun and content.lstrip().startswith(b"[")
                try:
                    if is_array:
                        yield from self._array(Scan(content, line, file))
                    else:
                        content += b"" if content.endswith(b"\n") else file.readline()
                        yield from self._only(Scan(content, line))
                except Unreadable as exc:
                    self.problems.add(exc.line, str(exc))
                if is_array:
                    return
                begun = True
            line += content.count(b"\n")

    def _array(self, scan: Scan) -> Iterator[Entry]:
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

    def _only(self, scan: Scan) -> Iterator[Entry]:
        scan.ahead()
        yield from self._entry(scan)
        self._end(scan)

    def _entry(self, scan: Scan) -> Iterator[Entry]:
        line = scan.line
        value = scan.value()
        for name in scan.repeated:
            self.problems.add(line, f"the field {bare(name)} is given twice")
        if isinstance(value, dict):
            yield Entry(line, value)
        else:
            self.problems.add(line, "is not a JSON object")

    def _end(self, scan: Scan) -> None:
        if scan.ahead():
            raise scan.unreadable("something follows its end", scan.position)
