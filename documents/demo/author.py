"""Makes up one document, in the shape the API lists it."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random
from typing import Any
from uuid import UUID

from documents.demo import timeline
from documents.demo.agreements import CC, VIEWER, Kind
from documents.demo.cast import PEOPLE, TENANTS, Tenant
from documents.demo.names import COLLEAGUES, COMPANIES, CONTACTS, Company, Contact
from documents.models import Document, Recipient

Status = Document.Status
Reached = Recipient.Status

COLLEAGUES_EACH = 3  # a workspace
READING = (CC, VIEWER)


@dataclass(frozen=True)
class Made:
    """A document that was made up.

    Attributes:
        value: as in the API, without what is read from its files.
        company: the other side.
        length: how long its text is, 1 to 5.
    """

    value: dict[str, Any]
    kind: Kind
    tenant: Tenant
    company: Company
    length: int

    @property
    def complete(self) -> bool:
        """Whether it has a signed copy and a certificate."""
        return bool(self.value["status"] == Status.COMPLETED)

    def path(self, file_type: str) -> str:
        """Where its file of a type lies beside the file of documents."""
        return f"{self.value['id']}-{file_type}.pdf"


def text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _insiders(tenant: Tenant) -> list[Contact]:
    """People of the workspace: those who sign in, and colleagues."""
    first = TENANTS.index(tenant) * COLLEAGUES_EACH
    people = [person for person in PEOPLE if person.tenant is tenant]
    return [
        *(Contact(f"{p.first_name} {p.last_name}", p.login.partition("@")[0]) for p in people),
        *COLLEAGUES[first : first + COLLEAGUES_EACH],
    ]


class Author:
    """Makes up one document."""

    def __init__(
        self, rng: Random, tenant: Tenant, kind: Kind, status: Document.Status, now: datetime
    ) -> None:
        self.rng = rng
        self.tenant = tenant
        self.kind = kind
        self.status = status
        self.now = now
        # What does not depend on the time comes first: it is the same whenever the demo is made.
        self.id = self._id()
        self.company = rng.choice(COMPANIES)
        self.sequential = rng.random() < 0.5
        self.number = rng.randint(2, 98)
        self.length = rng.choice([1, 1, 2, 2, 3, 4, 5])
        self.recipients = self._people()
        self.created = timeline.created(rng, status, now)
        self.sent = self.created + timedelta(seconds=rng.randint(180, 6000))
        self.expires = timeline.expires(rng, status, self.sent, now)

    def write(self, reason: str | None) -> Made:
        recipients = self.recipients
        if self.status != Status.DRAFT:
            self._tell(recipients, reason)
        done = [r["completedAt"] for r in recipients if r["completedAt"]]
        outside = [r for r in recipients if not r["email"].endswith(self.tenant.domain)]
        names = {
            "company": self.company.name,
            "city": self.company.city,
            "person": (outside or recipients)[0]["name"],
            "year": self.created.year,
            "number": self.number,
        }
        sent = self.status != Status.DRAFT
        value = {
            "id": self.id,
            "title": self.kind.title.format(**names),
            "status": self.status.value,
            "fileName": self.kind.file_name.format(**names),
            "signingOrder": "SEQUENTIAL" if self.sequential else "PARALLEL",
            "createdAt": text(self.created),
            "sentAt": text(self.sent) if sent else None,
            "completedAt": max(done) if self.status == Status.COMPLETED else None,
            "expiresAt": text(self.expires) if sent and self.expires else None,
            "recipients": recipients,
        }
        return Made(value, self.kind, self.tenant, self.company, self.length)

    def _id(self) -> str:
        return str(UUID(int=self.rng.getrandbits(128), version=4))

    def _people(self) -> list[dict[str, Any]]:
        """The recipients before anything was sent; those who only read stand last."""
        inside, outside = _insiders(self.tenant), list(CONTACTS)
        found = [
            (role, contact, self.tenant.domain)
            for role, contact in zip(
                self.kind.inside, self.rng.sample(inside, len(self.kind.inside)), strict=True
            )
        ]
        found += [
            (role, contact, self.company.domain)
            for role, contact in zip(
                self.kind.outside, self.rng.sample(outside, len(self.kind.outside)), strict=True
            )
        ]
        found.sort(key=lambda person: person[0] in READING)
        return [
            {
                "id": self._id(),
                "name": contact.name,
                "email": f"{contact.local}@{domain}",
                "role": role,
                "status": Reached.PENDING.value,
                "order": order,
                "sentAt": None,
                "viewedAt": None,
                "completedAt": None,
                "declinedAt": None,
                "declineReason": None,
            }
            for order, (role, contact, domain) in enumerate(found, 1)
        ]

    def _end(self) -> datetime:
        """Until when people did something."""
        days = self.rng.uniform(0.2, 20 if self.status in timeline.OPEN else 6)
        ends = [self.now - timedelta(minutes=5), self.sent + timedelta(days=days)]
        if self.status == Status.EXPIRED and self.expires:
            ends.append(self.expires)
        return min(ends)

    def _tell(self, recipients: list[dict[str, Any]], reason: str | None) -> None:
        """Lets the recipients get as far as the document's status says."""
        asked = [r for r in recipients if r["role"] not in READING]
        reading = [r for r in recipients if r["role"] in READING]
        reached = timeline.levels(self.rng, self.status, len(asked), sequential=self.sequential)
        steps = timeline.events(self.rng, reached, sequential=self.sequential)
        count = len(steps) + len(reading)
        moments = [text(m) for m in timeline.moments(self.rng, self.sent, self._end(), count)]
        for who, (person, level) in enumerate(zip(asked, reached, strict=True)):
            approved = level == Reached.SIGNED and person["role"] == "APPROVER"
            person["status"] = Reached.APPROVED.value if approved else str(level)
            if level != Reached.PENDING and (who == 0 or not self.sequential):
                person["sentAt"] = text(self.sent)
        for (who, step), moment in zip(steps, moments, strict=False):
            person = asked[who]
            if step == "viewed":
                person["viewedAt"] = moment
            elif reached[who] == Reached.DECLINED:
                person |= {"declinedAt": moment, "declineReason": reason}
            else:
                person["completedAt"] = moment
                # In turn: the next person's turn begins when this one is done.
                if self.sequential and who + 1 < len(asked):
                    asked[who + 1]["sentAt"] = moment
        if all(level == Reached.SIGNED for level in reached):
            self._let_read(reading, max(p["completedAt"] for p in asked), moments[len(steps) :])
        elif not self.sequential:
            self._let_read(reading, text(self.sent), moments[len(steps) :])

    def _let_read(self, reading: list[dict[str, Any]], sent: str, moments: list[str]) -> None:
        """Sends their copies to those who only read; some open them."""
        for person, moment in zip(reading, moments, strict=True):
            person |= {"status": Reached.SENT.value, "sentAt": sent}
            if self.rng.random() < 0.6:
                person |= {"status": Reached.VIEWED.value, "viewedAt": moment}
