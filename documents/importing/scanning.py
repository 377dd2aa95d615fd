"""A text of JSON values, walked through from one to the next, little of it at a time."""

import codecs
import json
import re
from typing import IO, Any

INTEGER_LENGTH = 20  # characters; a longer one fits no column
CHUNK = 256 * 1024  # bytes that are read at a time, at least
WORD = 16  # characters; no literal and no escape of JSON is longer

_WHITE_SPACE = re.compile(r"[ \t\r\n]*")


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


class Scan:
    """Walks through a text from JSON value to JSON value, and knows its line.

    Args:
        content: how the text begins.
        line: of its beginning.
        rest: how it goes on, if it does. It is read bit by bit, and what is passed is forgotten.
    """

    def __init__(self, content: bytes, line: int, rest: IO[bytes] | None = None) -> None:
        self.text = ""
        self.line = line
        self.position = 0
        self.repeated: list[str] = []  # field names that the last value has twice
        self._before = 0  # characters of the text's first line that are forgotten
        self._rest = rest
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._decoder = json.JSONDecoder(object_pairs_hook=self._object, parse_int=_integer)
        self.text = self._decode(content)

    def _decode(self, content: bytes) -> str:
        try:
            return self._utf8.decode(content, final=not content or self._rest is None)
        except UnicodeDecodeError as exc:
            lines = self.text.count("\n", self.position) + exc.object.count(b"\n", 0, exc.start)
            raise Unreadable(self.line + lines, "is not UTF-8") from None

    def _more(self) -> bool:
        """Reads on, unless the text has ended."""
        if self._rest is None:
            return False
        # Of a value of any length, no more than half is read again in vain.
        content = self._rest.read(max(CHUNK, len(self.text) - self.position))
        text = self._decode(content)
        if not content:
            return False
        self._before = self._column(self.position) - 1
        self.text = self.text[self.position :] + text
        self.position = 0
        return True

    def _column(self, position: int) -> int:
        newline = self.text.rfind("\n", 0, position)
        return position - newline + (self._before if newline < 0 else 0)

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
        while True:
            space = _WHITE_SPACE.match(self.text, self.position)
            self._move(space.end() if space else self.position)
            if self.position < len(self.text) or not self._more():
                return self.text[self.position : self.position + 1]

    def skip(self) -> None:
        """Passes the character ahead."""
        self._move(self.position + 1)

    def value(self) -> Any:
        """The value ahead."""
        while True:
            self.repeated.clear()
            try:
                value, end = self._decoder.raw_decode(self.text, self.position)
            except json.JSONDecodeError as exc:
                if self._is_cut(exc) and self._more():
                    continue
                raise self.unreadable(exc.msg, exc.pos) from None
            except RecursionError:
                raise Unreadable(self.line, "is nested too deeply") from None
            if end < len(self.text) or not self._more():  # the digits of a number may go on
                self._move(end)
                return value

    def _is_cut(self, exc: json.JSONDecodeError) -> bool:
        """Whether the text may be wrong only because there is more of it."""
        return exc.pos > len(self.text) - WORD or exc.msg.startswith("Unterminated string")

    def unreadable(self, text: str, position: int) -> Unreadable:
        """The problem that `text` names, at a position that is not before this one."""
        self._move(position)
        return Unreadable(self.line, f"column {self._column(position)} is not JSON: {text}")
