"""The requests that are compared, as others would serve them: same tables, keys and rate limit."""

REQUESTS_PER_MINUTE = 300
PLANS = ("PRO", "BUSINESS")
SIGNING_ROLES = ("SIGNER", "APPROVER")
DONE = ("SIGNED", "APPROVED")
