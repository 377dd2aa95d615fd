"""The public part of an API key, for the admin, the search and the log."""

PREFIX = "dtd_"
PUBLIC_LENGTH = 12  # first characters, `dtd_` included, that lists and logs show
