"""The problems of a file: each with its line and its field."""

from config.runtime.logs import redact

SHOWN_PROBLEMS = 100  # more are only counted
SHOWN_LENGTH = 300  # characters of a problem


class ImportRefused(Exception):
    """The file has problems, and nothing was imported; the text lists them, one a line."""


class Invalid(Exception):
    """One line cannot be imported; the text says why."""


class Problems:
    """The problems of one file; only the first ones are kept in memory."""

    def __init__(self) -> None:
        self.count = 0
        self._first: list[tuple[int, str]] = []

    def add(self, line: int, text: str) -> None:
        """Adds a problem, without secrets and without characters that change a terminal."""
        self.count += 1
        if len(self._first) < SHOWN_PROBLEMS:
            shown = "".join(
                char if char.isprintable() else char.encode("unicode_escape").decode()
                for char in redact(text)[:SHOWN_LENGTH]
            )
            self._first.append((line, shown))

    def raise_if_any(self, name: str) -> None:
        """Raises ImportRefused if problems were added; `name` is the file's name."""
        if not self.count:
            return
        problems = "1 problem" if self.count == 1 else f"{self.count:,} problems"
        lines = [f"{problems} in {name}; nothing was imported."]
        lines += [f"line {line}, {text}" for line, text in sorted(self._first)]
        if self.count > SHOWN_PROBLEMS:
            lines.append(f"and {self.count - SHOWN_PROBLEMS:,} more")
        raise ImportRefused("\n".join(lines))
