"""E-mails: a queue in the database, what users are told of, and what each of them chooses."""
