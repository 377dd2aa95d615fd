"""The certificate of completion: who did what to which file, and when."""

import hashlib
from datetime import datetime
from pathlib import Path
from typing import Any

from documents.demo.author import Made
from documents.demo.paper import FAINT, LEFT, Colour, Paper, Sheets

GOLD: Colour = (140, 104, 38)
COLUMNS = (LEFT, LEFT + 66, LEFT + 90, LEFT + 117, LEFT + 144)  # mm
HEADINGS = ("Person", "Role", "Sent", "Viewed", "Finished")
ROW_HEIGHT = 13.0  # mm


def write_certificate(paper: Paper, made: Made, folder: Path) -> None:
    """The file that tells how a document was completed.

    Args:
        folder: has the other two files of the document.
    """
    value = made.value
    completed = datetime.fromisoformat(value["completedAt"])
    paper.begin(
        Sheets(
            name=made.path("certificate"),
            title=f"{value['title']} (certificate of completion)",
            label="CERTIFICATE OF COMPLETION",
            note=made.tenant.name,
            foot=f"Certificate of document {value['id']}",
            colour=GOLD,
            created=completed,
        )
    )
    paper.set_draw_color(*GOLD)
    paper.set_line_width(0.6)
    paper.rect(12, 22, 186, 254)
    paper.paragraph("Certificate of completion", size=24, style="B", colour=GOLD)
    paper.paragraph(
        "Everyone who was asked to sign or approve the document below has done so. All times are "
        "UTC."
    )
    paper.y += 2
    for name, text in (
        ("Document", value["title"]),
        ("Document ID", value["id"]),
        ("File name", value["fileName"]),
        ("Workspace", made.tenant.name),
        ("Created", _time(value["createdAt"])),
        ("Sent", _time(value["sentAt"])),
        ("Completed", _time(value["completedAt"])),
    ):
        paper.y += 7
        paper.write_at(LEFT, paper.y, name, size=9, colour=FAINT)
        paper.write_at(LEFT + 34, paper.y, text, size=10)
    paper.y += 10
    _people(paper, value["recipients"])
    paper.y += 6
    for name, file_type in (("original", "original"), ("signed copy", "signed")):
        content = (folder / made.path(file_type)).read_bytes()
        paper.y += 8
        paper.write_at(LEFT, paper.y, f"SHA-256 of the {name}", size=9, colour=FAINT)
        paper.y += 5
        paper.write_at(LEFT, paper.y, hashlib.sha256(content).hexdigest(), size=9)


def _time(text: str) -> str:
    return f"{datetime.fromisoformat(text):%d %B %Y, %H:%M:%S}"


def _people(paper: Paper, recipients: list[dict[str, Any]]) -> None:
    """A row for each person, with their address below the name."""
    for x, heading in zip(COLUMNS, HEADINGS, strict=True):
        paper.write_at(x, paper.y, heading, size=9, style="B")
    paper.rule(paper.y + 2)
    for person in recipients:
        top = paper.y + 7
        paper.write_at(LEFT, top, person["name"], size=9.5)
        paper.write_at(LEFT, top + 4, person["email"], size=7.5, colour=FAINT)
        paper.write_at(COLUMNS[1], top, _role(person["role"]), size=8.5)
        times = (person["sentAt"], person["viewedAt"], person["completedAt"])
        for x, time in zip(COLUMNS[2:], times, strict=True):
            if time is not None:
                moment = datetime.fromisoformat(time)
                paper.write_at(x, top, f"{moment:%d %b %Y}", size=8.5)
                paper.write_at(x, top + 4, f"{moment:%H:%M:%S}", size=7.5, colour=FAINT)
        paper.y += ROW_HEIGHT
        paper.rule(paper.y)


def _role(role: str) -> str:
    return role if role == "CC" else role.capitalize()
