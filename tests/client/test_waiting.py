"""dtd waiting: who still has to sign or approve what, and since when."""

from datetime import UTC, datetime, timedelta

import pytest

from documents.models import Document
from tests.support import factories
from tests.support.examples import Examples
from tests.support.factories import Tenant

NOW = datetime.now(UTC)


def days_ago(days: int) -> datetime:
    """A time that is so many days old, with an hour to spare."""
    return NOW - timedelta(days=days, hours=1)


@pytest.fixture
def documents(acme: Tenant) -> list[Document]:
    """A sequential and a parallel document that wait for recipients, and many that do not."""
    for status in ("DRAFT", "COMPLETED", "DECLINED", "EXPIRED", "CANCELLED"):
        factories.recipient(factories.document(acme.workspace, status), name="Nobody")
    in_turns = factories.document(
        acme.workspace,
        "PARTIALLY_SIGNED",
        title="Lease",
        signing_order="SEQUENTIAL",
        sent_at=days_ago(9),
        expires_at=NOW + timedelta(days=5),
    )
    for order, name, role, status in (
        (1, "Ada", "SIGNER", "SIGNED"),
        (2, "Bob", "SIGNER", "VIEWED"),
        (2, "Cy", "APPROVER", "BOUNCED"),
        (3, "Dee", "SIGNER", "PENDING"),
        (4, "Eve", "CC", "PENDING"),
        (4, "Fay", "VIEWER", "SENT"),
    ):
        sent = days_ago(4) if status != "PENDING" else None
        factories.recipient(in_turns, role, status, name=name, order=order, sent_at=sent)
    at_once = factories.document(
        acme.workspace, "SENT", title="=cmd|calc", signing_order="PARALLEL", sent_at=days_ago(7)
    )
    factories.recipient(at_once, "SIGNER", "SENT", name="契約\x1b[31m者", order=1)
    factories.recipient(at_once, "APPROVER", "APPROVED", name="Gus", order=2)
    factories.recipient(at_once, "SIGNER", "SENT", name="+49 Zoë", order=3, sent_at=days_ago(2))
    return [in_turns, at_once]


def day(days: int) -> str:
    return f"{days_ago(days):%Y-%m-%d}"


def test_waiting_prints_recipients_whose_turn_it_is_before_later_ones_and_no_formula_in_a_csv(
    examples: Examples, documents: list[Document]
) -> None:
    lease, other = (str(document.id) for document in documents)
    until = f"{documents[0].expires_at:%Y-%m-%d}"
    mail = "ada@example.com"
    assert examples.run("dtd", "waiting").splitlines() == [
        "SINCE       DAYS  STATE    HAS TO   NAME         EMAIL            DOCUMENT   EXPIRES     "
        "ID",
        f"{day(7)}  7     SENT     sign     契約 [31m者  {mail}  =cmd|calc              {other}",
        f"{day(4)}  4     VIEWED   sign     Bob          {mail}  Lease      {until}  {lease}",
        f"{day(4)}  4     BOUNCED  approve  Cy           {mail}  Lease      {until}  {lease}",
        f"{day(2)}  2     SENT     sign     +49 Zoë      {mail}  =cmd|calc              {other}",
        f"                  LATER    sign     Dee          {mail}  Lease      {until}  {lease}",
    ]
    lines = examples.run("dtd", "waiting", "--csv").splitlines()
    assert lines[0] == "since,days,state,has to,name,email,document,expires,id"
    assert lines[1] == f"{day(7)},7,SENT,sign,契約\x1b[31m者,{mail},'=cmd|calc,,{other}"
    assert lines[5] == f",,LATER,sign,Dee,{mail},Lease,{until},{lease}"
