from apikeys.admin import section  # noqa: F401 - registers the pages of keys
