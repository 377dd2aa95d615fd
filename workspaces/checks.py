from django.core.checks import Warning  # noqa: A004

from config.checks import Found, asks_service, look_at
from workspaces import counts


@asks_service("workspaces.001", hint=look_at("housekeeping"))
def counts_of_documents() -> Found:
    """Whether housekeeping folds them, or GET /me gets slower with each change of a document."""
    rows = counts.most_rows()
    if rows > counts.LATE:
        yield Warning(f"Housekeeping is late: GET /me of one workspace reads {rows:,} rows.")
