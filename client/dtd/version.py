"""The version of this package; `pyproject.toml` reads it here."""

VERSION = "1.0.0"
