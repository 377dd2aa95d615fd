"""The problems of a file: each with its line and its field."""

from config.runtime.logs import redact

SHOWN_PROBLEMS = 100
SHOWN_LENGTH = 300  # characters of a problem


class ImportRefused(Exception):
    """The file has problems, and nothing was imported; the text lists them, one a line."""


class Invalid(Exception):
    """One line cannot be imported; the text says why."""


class Problems(list[tuple[int, str]]):
    """The problems of one file, each with its line."""

    def raise_if_any(self, name: str) -> None:
        """Raises ImportRefused if there are problems; `name` is the file's name.

        The text has no secrets of the file, and no characters that change a terminal.
        """
        if not self:
            return
        problems = "1 problem" if len(self) == 1 else f"{len(self):,} problems"
        lines = [f"{problems} in {name}; nothing was imported."]
        for line, problem in sorted(self)[:SHOWN_PROBLEMS]:
            shown = "".join(
                char if char.isprintable() else char.encode("unicode_escape").decode()
                for char in redact(problem)[:SHOWN_LENGTH]
            )
            lines.append(f"line {line}, {shown}")
        if len(self) > SHOWN_PROBLEMS:
            lines.append(f"and {len(self) - SHOWN_PROBLEMS:,} more")
        raise ImportRefused("\n".join(lines))
