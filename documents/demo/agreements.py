"""The kinds of agreements in the demo: what they are called, and who has to do what."""

from dataclasses import dataclass

SIGNER, APPROVER, CC, VIEWER = "SIGNER", "APPROVER", "CC", "VIEWER"


@dataclass(frozen=True)
class Kind:
    """A kind of agreement.

    Attributes:
        title, file_name: with {company}, {city}, {person}, {year} and {number}.
        inside, outside: roles of the workspace's own people and of the other side's.
        purpose: what the first paragraph says of it.
    """

    title: str
    file_name: str
    inside: tuple[str, ...]
    outside: tuple[str, ...]
    purpose: str


KINDS = (
    Kind(
        "Mutual NDA – {company}",
        "NDA {year}-{number}.pdf",
        (SIGNER,),
        (SIGNER,),
        "The parties wish to discuss a possible cooperation and will exchange information that "
        "is not public.",
    ),
    Kind(
        "Office lease – {city}, unit {number}",
        "office-lease-unit-{number}.pdf",
        (APPROVER, SIGNER),
        (SIGNER, CC),
        "The landlord lets the office unit described in the schedules to the tenant.",
    ),
    Kind(
        "Mietvertrag – Lindenstraße {number}",
        "Mietvertrag Lindenstraße {number}.pdf",
        (SIGNER,),
        (SIGNER, SIGNER),
        "Die Vermieterin überlässt dem Mieter die in der Anlage beschriebenen Räume. The English "
        "text below governs.",
    ),
    Kind(
        "Offer of employment – {person}",
        "offer-letter-{number}.pdf",
        (APPROVER, SIGNER, CC),
        (SIGNER,),
        "We are pleased to offer the position on the terms below; the offer is accepted by "
        "signing it.",
    ),
    Kind(
        "Consulting agreement – {company}",
        "consulting-agreement-v{number}.pdf",
        (SIGNER, VIEWER),
        (SIGNER,),
        "The consultant advises the client within the scope that the schedules describe.",
    ),
    Kind(
        "Data processing agreement – {company}",
        "DPA-{year}-{number}.pdf",
        (APPROVER, SIGNER),
        (APPROVER, SIGNER, CC),
        "The processor handles personal data for the controller, only as instructed and for as "
        "long as the services run.",
    ),
    Kind(
        "Statement of work no. {number}",
        "SOW {number}.pdf",
        (SIGNER,),
        (APPROVER, SIGNER),
        "This statement of work is part of the framework agreement between the parties.",
    ),
    Kind(
        "Σύμβαση συνεργασίας – {company}",
        "Σύμβαση συνεργασίας {number}.pdf",
        (SIGNER,),
        (SIGNER, VIEWER),
        "Τα μέρη συμφωνούν να συνεργαστούν με τους όρους που ακολουθούν. The English text below "
        "governs.",
    ),
    Kind(
        "Договор поставки № {number}",
        "Договор поставки {number}.pdf",
        (APPROVER, SIGNER),
        (SIGNER,),
        "Поставщик обязуется передать товар, а покупатель – принять и оплатить его. The English "
        "text below governs.",
    ),
    Kind(
        "Umowa o świadczenie usług – {company}",
        "umowa-{year}-{number}.pdf",
        (SIGNER, CC),
        (SIGNER,),
        "Wykonawca świadczy usługi opisane w załączniku. The English text below governs.",
    ),
    Kind(
        "Purchase order {year}/{number} – {company}",
        "PO_{year}_{number}.pdf",
        (APPROVER,),
        (SIGNER, CC),
        "The buyer orders the goods listed in the schedules at the prices given there.",
    ),
    Kind(
        "Board resolution {year}-{number}",
        "board-resolution-{year}-{number}.pdf",
        (SIGNER, SIGNER, APPROVER, VIEWER),
        (),
        "The members of the board resolve without a meeting, in writing, as follows.",
    ),
)

DECLINE_REASONS = (
    "Clause 4 still has the old notice period; we agreed on 30 days.",
    "I am not authorised to sign above €10,000. Please send it to our finance director.",
    "Der Firmenname ist falsch geschrieben – bitte korrigieren.",
    "Не совпадают реквизиты счёта, пришлите исправленный экземпляр.",
    "We have decided to go with another supplier.",
    "Λάθος ημερομηνία έναρξης.",
    None,
    "The annex is missing.\nPlease resend the complete document.",
)
