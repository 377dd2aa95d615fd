"""E-mails: their kinds, what each user has chosen, and the queue in the database."""
