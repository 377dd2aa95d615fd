"""What happened to an account, for the audit log (`audit.receivers`).

Each is sent with `login`, the account's, and `by`, the login of the user who did it. Django's own
signals would also be sent elsewhere, and with the typed login, which may be a password.
"""

from django.dispatch import Signal

signed_in = Signal()
sign_in_failed = Signal()
password_confirmed = Signal()
password_refused = Signal()
password_reset_requested = Signal()
second_factor_added = Signal()
second_factor_removed = Signal()
recovery_codes_made = Signal()
recovery_code_used = Signal()
