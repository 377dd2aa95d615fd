"""The signed copy: the agreement, sealed, and a page with the signatures."""

import math
import zlib
from datetime import datetime
from typing import Any

from documents.demo.author import READING, Made
from documents.demo.original import write_agreement
from documents.demo.paper import FAINT, LEFT, RIGHT, RULE, WIDTH, Colour, Paper, Sheets

GREEN: Colour = (22, 112, 80)
PEN: Colour = (28, 58, 140)
BLOCK_HEIGHT = 42.0  # mm


def write_signed(paper: Paper, made: Made) -> None:
    """The file that everybody gets when the last one has signed."""
    value = made.value
    completed = datetime.fromisoformat(value["completedAt"])
    paper.begin(
        Sheets(
            name=made.path("signed"),
            title=f"{value['title']} (signed)",
            label="SIGNED COPY",
            note=f"sealed on {completed:%d %B %Y, %H:%M} UTC",
            foot=f"Document {value['id']}",
            colour=GREEN,
            created=completed,
        )
    )
    write_agreement(paper, made, to_sign=False)
    paper.add_page()
    paper.paragraph("Signatures", size=20, style="B")
    paper.paragraph("Each person below signed or approved this document electronically.")
    for recipient in value["recipients"]:
        if recipient["role"] not in READING:
            _block(paper, recipient)


def _block(paper: Paper, recipient: dict[str, Any]) -> None:
    """One person's box: the signature, or that they approved, and when."""
    paper.room(BLOCK_HEIGHT + 6)
    top = paper.y
    approved = recipient["status"] == "APPROVED"
    paper.set_draw_color(*RULE)
    paper.rect(LEFT, top, WIDTH, BLOCK_HEIGHT, round_corners=True, corner_radius=2)
    done = datetime.fromisoformat(recipient["completedAt"])
    word = "Approved" if approved else "Signed"
    if approved:
        paper.write_at(LEFT + 8, top + 16, "Approved", size=20, style="B", colour=GREEN)
    else:
        _signature(paper, recipient["name"], LEFT + 8, top + 14)
    paper.rule(top + 25, LEFT + 6, RIGHT - 6)
    paper.write_at(LEFT + 6, top + 31, recipient["name"], size=10, style="B")
    paper.write_at(LEFT + 6, top + 36.5, recipient["email"], size=8.5, colour=FAINT)
    when = f"{word} on {done:%d %B %Y, %H:%M:%S} UTC"
    paper.write_at(RIGHT - 6, top + 31, when, size=8.5, right=True)
    paper.write_at(
        RIGHT - 6, top + 36.5, recipient["role"].capitalize(), size=8.5, colour=FAINT, right=True
    )
    paper.y = top + BLOCK_HEIGHT + 6


def _signature(paper: Paper, name: str, left: float, middle: float) -> None:
    """A stroke of the pen, the same for the same name."""
    seed = zlib.crc32(name.encode())
    loops, lean, swing = 3 + seed % 4, 2 + seed // 7 % 4, 4 + seed // 31 % 3
    length = min(70.0, 3.4 * len(name))
    points = []
    for step in range(121):
        at = step / 120
        turn = at * loops * 2 * math.pi
        fade = 1 - 0.75 * at
        points.append(
            (
                left + at * length + lean * math.sin(turn) * fade,
                middle - swing * math.cos(turn + seed % 3) * fade - 3 * math.sin(at * math.pi),
            )
        )
    paper.set_draw_color(*PEN)
    paper.set_line_width(0.5)
    paper.polyline(points)
