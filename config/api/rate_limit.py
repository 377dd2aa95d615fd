"""The rate limit's numbers, for the throttle and for the documentation."""

REQUESTS_PER_MINUTE = 300  # for each key
WINDOW = 60  # seconds
