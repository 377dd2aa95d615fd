"""Who the demo's documents are sent to. Every domain is reserved: no message can reach anyone."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Company:
    """The other side of an agreement."""

    name: str
    domain: str
    city: str


@dataclass(frozen=True)
class Contact:
    """A person with the part of the address before the @."""

    name: str
    local: str


COMPANIES = (
    Company("Nordlicht Ölmühle GmbH", "nordlicht.example", "Düsseldorf"),
    Company("Brightwater Analytics Ltd", "brightwater.example", "Bristol"),
    Company("Κύμα Ναυτιλιακή Α.Ε.", "kyma.example", "Πειραιάς"),
    Company("Ромашка и партнёры", "romashka.example", "Алматы"),
    Company("Łódzkie Pracownie sp. z o.o.", "pracownie.example", "Łódź"),
    Company("Ateliers Fontaine & Fils", "fontaine.example", "Besançon"),
    Company("Smörgås & Söner AB", "smorgas.example", "Västerås"),
    Company("Maple Ridge Logistics Inc.", "mapleridge.example", "Halifax"),
    Company("Půlnoční Sklárny a.s.", "sklarny.example", "Plzeň"),
    Company("Çınar Tekstil A.Ş.", "cinar.example", "Eskişehir"),
    Company("Quinta do Açor, Lda.", "acor.example", "Évora"),
    Company("Tidewater Property Trust", "tidewater.example", "Charleston"),
)

CONTACTS = (
    Contact("Zoë Brückner", "zoe.brueckner"),
    Contact("Łukasz Wiśniewski", "lukasz.wisniewski"),
    Contact("Αλεξάνδρα Παπαδοπούλου", "a.papadopoulou"),
    Contact("Дмитрий Соколов", "dmitri.sokolov"),
    Contact("Siobhán Ó Briain", "siobhan.obriain"),
    Contact("João Conceição", "joao.conceicao"),
    Contact("Åsa Lindström", "asa.lindstrom"),
    Contact("Özge Yıldırım", "ozge.yildirim"),
    Contact("Ștefan Țurcanu", "stefan.turcanu"),
    Contact("Đorđe Petrović", "djordje.petrovic"),
    Contact("Františka Dvořáková", "f.dvorakova"),
    Contact("Ágnes Szűcs", "agnes.szucs"),
    Contact("Bjørn Sæther", "bjorn.saether"),
    Contact("Олена Ґалаґан", "olena.galagan"),
    Contact("Νίκος Ιωάννου", "nikos.ioannou"),
    Contact("Jürgen Groß", "jurgen.gross"),
    Contact("Margaret Okafor", "margaret.okafor"),
    Contact("Priya Raman", "priya.raman"),
    Contact("Thomas Whitfield", "t.whitfield"),
    Contact("Hannah Weiss", "hannah.weiss"),
    Contact("Daniel Kim", "daniel.kim"),
    Contact("Inès Lefèvre", "ines.lefevre"),
    Contact("Камила Ахметова", "kamila.akhmetova"),
    Contact("Robert Ainsworth", "robert.ainsworth"),
)

# Those of the workspaces themselves who sign, approve or get a copy, besides who signs in.
COLLEAGUES = (
    Contact("Beatrix Vögele", "beatrix"),
    Contact("Oluwaseun Adeyemi", "seun"),
    Contact("Karel Novotný", "karel"),
    Contact("Grace Holloway", "grace"),
    Contact("Mikołaj Zając", "mikolaj"),
    Contact("Ελένη Δημητρίου", "eleni"),
    Contact("Pedro Simões", "pedro"),
    Contact("Ingrid Åkesson", "ingrid"),
    Contact("Léa Dubois", "lea"),
    Contact("Тимур Садыков", "timur"),
    Contact("Rosa Ibáñez", "rosa"),
    Contact("Henrik Dahl", "henrik"),
)
