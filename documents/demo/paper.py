"""Paper to write on: A4, a font that has the demo's letters, a band that says what a file is."""

import io
import logging
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import cast

import ttf_opensans
from fpdf import FPDF
from pypdf import PdfReader, PdfWriter

FONT = "Open Sans"
LEFT, RIGHT = 22.0, 188.0  # mm; A4 is 210 wide
TOP, BOTTOM = 34.0, 272.0  # mm; and 297 high
WIDTH = RIGHT - LEFT
LINE_HEIGHT = 0.5  # mm for each point of the font's size

Colour = tuple[int, int, int]
INK: Colour = (34, 38, 46)
FAINT: Colour = (112, 118, 128)
RULE: Colour = (205, 209, 215)
WHITE: Colour = (255, 255, 255)

# It tells the log about each table of each font.
logging.getLogger("fontTools").setLevel(logging.WARNING)


@dataclass(frozen=True)
class Sheets:
    """The pages of one file.

    Attributes:
        name: of the file.
        label: what kind of file it is; stands in the band on each page.
        note: stands at the band's other end.
        foot: stands at the bottom of each page.
        created: when the file says that it was made.
    """

    name: str
    title: str
    label: str
    note: str
    foot: str
    colour: Colour
    created: datetime


class Paper(FPDF):
    """A long PDF that is written from top to bottom and then cut into files.

    Putting fonts into a PDF takes longer than all the writing: so they are put into one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.add_font(FONT, "", ttf_opensans.OPENSANS_REGULAR.path)
        self.add_font(FONT, "B", ttf_opensans.OPENSANS_BOLD.path)
        self.set_auto_page_break(False)
        self._files: list[tuple[Sheets, int]] = []  # each with its first page, counted from 0
        self._lines: dict[tuple[str, float, str], list[str]] = {}

    def begin(self, sheets: Sheets) -> None:
        """What is written from here on belongs to this file."""
        self._files.append((sheets, self.page))
        self.add_page()

    def cut(self, folder: Path) -> None:
        """Writes the files."""
        pages = PdfReader(io.BytesIO(self.output())).pages
        ends = [first for _, first in self._files[1:]] + [len(pages)]
        for (sheets, first), end in zip(self._files, ends, strict=True):
            writer = PdfWriter()
            for number in range(first, end):
                writer.add_page(pages[number])
            created = f"D:{sheets.created:%Y%m%d%H%M%S}Z"
            writer.add_metadata({"/Title": sheets.title, "/CreationDate": created})
            with (folder / sheets.name).open("wb") as file:
                writer.write(file)

    def _current(self) -> tuple[Sheets, int]:
        """The file of this page; the foot of a file's last page is written after the next began."""
        return next(file for file in reversed(self._files) if file[1] < self.page)

    def header(self) -> None:
        sheets, _ = self._current()
        self.set_fill_color(*sheets.colour)
        self.rect(0, 0, 210, 16, style="F")
        self.write_at(LEFT, 10.2, sheets.label, size=10, style="B", colour=WHITE)
        self.write_at(RIGHT, 10.2, sheets.note, size=8, colour=WHITE, right=True)
        self.set_y(TOP)

    def footer(self) -> None:
        sheets, first = self._current()
        self.rule(281)
        self.write_at(LEFT, 286, sheets.foot, size=7.5, colour=FAINT)
        page = f"Page {self.page - first}"
        self.write_at(RIGHT, 286, page, size=7.5, colour=FAINT, right=True)

    def write_at(
        self,
        x: float,
        y: float,
        text: str,
        *,
        size: float,
        style: str = "",
        colour: Colour = INK,
        right: bool = False,
    ) -> None:
        """Writes one line; `y` is its base line, `x` its left end or its right one."""
        self.set_font(FONT, style, size)
        self.set_text_color(*colour)
        self.text(x - self.get_string_width(text) if right else x, y, text)

    def rule(self, y: float, left: float = LEFT, right: float = RIGHT) -> None:
        """A thin line across the page."""
        self.set_draw_color(*RULE)
        self.set_line_width(0.2)
        self.line(left, y, right, y)

    def room(self, height: float) -> None:
        """Goes on on a new page unless this one has so many mm left."""
        if self.y + height > BOTTOM:
            self.add_page()

    def paragraph(
        self, text: str, *, size: float = 10, style: str = "", colour: Colour = INK
    ) -> None:
        """Writes text over the whole width, and goes on below it."""
        height = size * LINE_HEIGHT
        for line in self._wrapped(text, size, style):
            self.room(height)
            self.y += height
            self.write_at(LEFT, self.y, line, size=size, style=style, colour=colour)
        self.y += height * 0.7

    def _wrapped(self, text: str, size: float, style: str) -> list[str]:
        """The lines of a text; clauses come again and again, and finding their ends is slow."""
        key = (text, size, style)
        if key not in self._lines:
            self.set_font(FONT, style, size)
            lines = self.multi_cell(WIDTH, text=text, dry_run=True, output="LINES")
            self._lines[key] = cast("list[str]", lines)
        return self._lines[key]
