"""The problems of a file: each with its line, its document and its field."""

from config.runtime.logs import redact

SHOWN_PROBLEMS = 100  # more are only counted
SHOWN_LENGTH = 60  # characters of a value that is quoted


class ImportRefused(Exception):
    """The file has problems, and nothing was imported; the text lists them, one a line."""


class Invalid(Exception):
    """One line cannot be imported; the text says why."""


def quoted(text: str) -> str:
    """Quotes a text from the file, without secrets.

    Long text is truncated, and unprintable characters are escaped.
    """
    text = redact(text)
    return repr(text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…")


def unquoted(text: str) -> str:
    """Like `quoted`, without the quotes."""
    return quoted(text)[1:-1]


class Problems:
    """The problems of one file; only the first ones are kept in memory."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[tuple[int, str]] = []

    def add(self, line: int, text: str) -> None:
        self.count += 1
        if len(self._first) < SHOWN_PROBLEMS:
            self._first.append((line, text))

    def raise_if_any(self, name: str) -> None:
        """Raises ImportRefused if problems were added; `name` is the file's name."""
        if not self.count:
            return
        problems = "1 problem" if self.count == 1 else f"{self.count:,} problems"
        lines = [f"{problems} in {name}; nothing was imported."]
        # Problems of ids are found last, for all lines at once.
        lines += [f"line {line}, {text}" for line, text in sorted(self._first, key=lambda p: p[0])]
        if self.count > SHOWN_PROBLEMS:
            lines.append(f"and {self.count - SHOWN_PROBLEMS:,} more")
        raise ImportRefused("\n".join(lines))
