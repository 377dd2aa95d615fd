"""Times as whole microseconds, and as PostgreSQL reads them; datetime objects take five times as
long, and there are twenty million times to write."""

from datetime import UTC, datetime, timedelta

SECOND = 1_000_000  # microseconds
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR

FIRST = datetime(2020, 1, 1, tzinfo=UTC)
_DAYS = [f"{FIRST + timedelta(days=n):%Y-%m-%d}" for n in range(3650)]
_CLOCK = [f"{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}" for n in range(86_400)]


def instant(time: datetime) -> int:
    """A time as microseconds since FIRST."""
    return (time - FIRST) // timedelta(microseconds=1)


def written(time: int) -> str:
    """Microseconds since FIRST as PostgreSQL's text."""
    day, rest = divmod(time, DAY)
    second, microsecond = divmod(rest, SECOND)
    return f"{_DAYS[day]} {_CLOCK[second]}.{microsecond:06}+00"
