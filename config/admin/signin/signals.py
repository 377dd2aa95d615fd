"""What happened to an account, for the audit log (`audit.receivers`).

Each is sent with `login`, the account's. `by` is the login of the user who did it, if that may be
somebody else, and `detail` says more. Django's own signals would also be sent elsewhere, and with
the typed login, which may be a password.
"""

from django.dispatch import Signal

signed_in = Signal()
sign_in_failed = Signal()
password_confirmed = Signal()
password_refused = Signal()
password_reset_requested = Signal()
password_reset = Signal()  # with `user` and `email`, to which the link was sent
second_factor_added = Signal()
second_factor_removed = Signal()
recovery_codes_made = Signal()
recovery_code_used = Signal()
