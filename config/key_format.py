"""The public part of an API key, for all who show, search for or redact one."""

PREFIX = "dtd_"
PUBLIC_LENGTH = 12  # first characters, `dtd_` included, that lists and logs show
