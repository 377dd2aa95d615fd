"""The text of an agreement, and the original: what was uploaded to be signed."""

from datetime import datetime
from random import Random

from documents.demo.author import READING, Made
from documents.demo.clauses import CLAUSES, SCHEDULE_ITEMS
from documents.demo.paper import FAINT, INK, LEFT, RIGHT, Colour, Paper, Sheets

SLATE: Colour = (70, 84, 104)
ROWS = 30  # of a schedule, which fills a page
LINE_TO_SIGN = 22.0  # mm, with the room for the signature above it


def write_original(paper: Paper, made: Made) -> None:
    """The file as it was uploaded, with empty lines to sign on."""
    value = made.value
    paper.begin(
        Sheets(
            name=made.path("original"),
            title=value["title"],
            label="ORIGINAL",
            note="as uploaded, not signed",
            foot=value["fileName"],
            colour=SLATE,
            created=datetime.fromisoformat(value["createdAt"]),
        )
    )
    write_agreement(paper, made, to_sign=True)


def write_agreement(paper: Paper, made: Made, *, to_sign: bool) -> None:
    """Title, parties, clauses, lines to sign on where they are wanted, and schedules."""
    value = made.value
    rng = Random(value["id"])  # noqa: S311 - the same text in the original and the signed copy
    paper.paragraph(value["title"], size=20, style="B")
    parties = f"of {made.tenant.name}"
    if made.kind.outside:
        company = made.company
        parties = f"between {made.tenant.name} and {company.name}, {company.city}"
    date = datetime.fromisoformat(value["createdAt"])
    paper.paragraph(f"{parties}\n{date:%d %B %Y}", colour=FAINT)
    paper.paragraph(made.kind.purpose, size=11)
    count = min(len(CLAUSES), 3 + 3 * made.length)
    chosen = sorted(rng.sample(range(len(CLAUSES)), count))
    for number, index in enumerate(chosen, 1):
        heading, text = CLAUSES[index]
        paper.room(24)
        paper.paragraph(f"{number}.  {heading}", size=11, style="B")
        paper.paragraph(text)
    if to_sign:
        asked = [person for person in value["recipients"] if person["role"] not in READING]
        paper.room(LINE_TO_SIGN * len(asked))
        for person in asked:
            _line_to_sign(paper, person["name"], person["role"].lower())
    for number in range(made.length - 2):
        _schedule(paper, "ABC"[number], rng)


def _schedule(paper: Paper, letter: str, rng: Random) -> None:
    """A page with a table of amounts that add up."""
    paper.add_page()
    paper.paragraph(f"Schedule {letter}", size=14, style="B")
    columns = (LEFT, LEFT + 14, LEFT + 118, RIGHT)
    _row(paper, columns, ("No.", "Item", "Due", "Amount"), style="B")
    total = 0
    for number in range(1, ROWS + 1):
        amount = rng.randint(4, 900) * 25
        total += amount
        item = rng.choice(SCHEDULE_ITEMS)
        due = f"day {number * 12}"
        _row(paper, columns, (str(number), item, due, f"€ {amount:,}.00"))
    _row(paper, columns, ("", "Total", "", f"€ {total:,}.00"), style="B")


def _row(
    paper: Paper, columns: tuple[float, ...], cells: tuple[str, ...], *, style: str = ""
) -> None:
    paper.y += 6.6
    for x, cell in zip(columns, cells, strict=True):
        paper.write_at(x, paper.y, cell, size=9, style=style, right=x == RIGHT)
    paper.rule(paper.y + 2)


def _line_to_sign(paper: Paper, name: str, role: str) -> None:
    paper.y += LINE_TO_SIGN - 6
    paper.set_draw_color(*INK)
    paper.line(LEFT, paper.y, LEFT + 80, paper.y)
    paper.write_at(LEFT, paper.y + 4.5, f"{name}, {role}", size=8, colour=FAINT)
    paper.y += 6
