"""What the query parameters of the documents endpoints may be; anything else is a 400."""

# SPEC: PARTIALLY_SIGNED is a status but not a filter value.
STATUS_FILTER = ("DRAFT", "SENT", "VIEWED", "COMPLETED", "DECLINED", "CANCELLED", "EXPIRED")
FILE_TYPES = ("signed", "original", "certificate")
CURSOR_EXPECTED = "the nextCursor of the previous page, with the same filters"
