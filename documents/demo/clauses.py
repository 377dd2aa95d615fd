"""What stands in the demo's agreements."""

# Heading and text of the clauses; every agreement takes some of them.
CLAUSES = (
    (
        "Definitions",
        "Words in this agreement have their ordinary meaning unless the schedules define them. "
        "A reference to a person includes companies, and a reference to writing includes "
        "electronic text that can be kept and read again.",
    ),
    (
        "Scope",
        "Each party does what the schedules say it will do, with the care that can be expected "
        "of someone experienced in the same line of work. Changes of scope are agreed in writing "
        "before the work on them begins.",
    ),
    (
        "Payment",
        "Invoices are due within 30 days of receipt. Amounts are net of value added tax. A party "
        "that pays late owes interest of five percentage points above the base rate of the "
        "central bank, counted by the day.",
    ),
    (
        "Term and notice",
        "The agreement begins on the day of the last signature and runs for twelve months. It is "
        "extended by a year each time unless one party gives the other notice in writing at "
        "least 30 days before it ends.",
    ),
    (
        "Termination for cause",
        "Either party may end the agreement at once when the other breaks an essential duty and "
        "does not put it right within 14 days of being asked to, or when it can no longer pay "
        "what it owes.",
    ),
    (
        "Confidentiality",
        "What a party learns of the other that is not public is used for this agreement only and "
        "shown to nobody who does not need it. This duty lasts three years beyond the end of the "
        "agreement.",
    ),
    (
        "Data protection",
        "Personal data is handled only for the purposes of this agreement and deleted when they "
        "are met, unless the law requires that it be kept. Each party names a person who answers "
        "questions about it.",
    ),
    (
        "Intellectual property",
        "What a party brings into the work stays its own. Results that are made for and paid by "
        "the other party may be used by it without limit in time or place.",
    ),
    (
        "Liability",
        "Liability for injury to life and health and for intent is not limited. Otherwise each "
        "party is liable up to the amount paid under this agreement in the twelve months before "
        "the damage.",
    ),
    (
        "Insurance",
        "Each party keeps the insurance that is usual in its trade and shows proof of it within "
        "ten days when asked to.",
    ),
    (
        "Assignment",
        "Rights under this agreement are passed on only with the consent of the other party, "
        "which it may not refuse without a reason that weighs.",
    ),
    (
        "Force majeure",
        "Nobody is liable for what lies beyond their control. The party that is held up says so "
        "without delay; after 60 days either party may end the agreement.",
    ),
    (
        "Electronic signatures",
        "The parties sign electronically. The signed copy with its certificate of completion "
        "stands for a paper original, and each party keeps one.",
    ),
    (
        "Final provisions",
        "There are no agreements beside this one. Should a provision be void, the others stand, "
        "and the parties replace it with one that comes closest to what they wanted.",
    ),
)

# What the rows of a schedule are about.
SCHEDULE_ITEMS = (
    "Kick-off and inventory",
    "Delivery of the first lot",
    "Acceptance test",
    "Handover of keys and access cards",
    "Monthly service fee",
    "Training for up to 12 people",
    "Travel and accommodation",
    "Extended warranty",
    "Maintenance window",
    "Documentation and drawings",
    "Storage and insurance",
    "Final report",
)
