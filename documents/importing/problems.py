"""What is wrong with a file: every problem with its line, its document and its field."""

from dataclasses import dataclass

SHOWN_PROBLEMS = 100  # more are only counted
SHOWN_LENGTH = 60  # characters of a value that is quoted


class ImportRefused(Exception):
    """The file has problems, and nothing was imported; the text lists them, one a line."""


def shown(text: str) -> str:
    """Quotes a text from the file: cut when long, what a terminal cannot show escaped."""
    return repr(text if len(text) <= SHOWN_LENGTH else f"{text[:SHOWN_LENGTH]}…")


def bare(text: str) -> str:
    """The same without its quotes, for a name."""
    return shown(text)[1:-1]


class Problems:
    """The problems of one file. A file where every line is wrong does not fill the memory."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[tuple[int, str]] = []

    def add(self, line: int, text: str) -> None:
        self.count += 1
        if len(self._first) < SHOWN_PROBLEMS:
            self._first.append((line, text))

    def refuse_if_any(self, name: str) -> None:
        """Returns when there are none.

        Raises:
            ImportRefused: there are, in the file called `name`.
        """
        if not self.count:
            return
        problems = "1 problem" if self.count == 1 else f"{self.count:,} problems"
        lines = [f"{problems} in {name}; nothing was imported."]
        # Some are found for many lines at a time, after what follows these.
        lines += [f"line {line}, {text}" for line, text in sorted(self._first, key=lambda p: p[0])]
        if self.count > SHOWN_PROBLEMS:
            lines.append(f"and {self.count - SHOWN_PROBLEMS:,} more")
        raise ImportRefused("\n".join(lines))


@dataclass(frozen=True)
class Place:
    """Where problems of one document are: its line, and what to call it."""

    problems: Problems
    line: int
    document: str

    def add(self, field: str, text: str) -> None:
        """Notes a problem of a field, named by its path: `recipients[0].email`."""
        self.problems.add(self.line, f"{self.document}, {field}: {text}")
