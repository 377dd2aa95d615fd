"""The admin's pages of webhooks and their deliveries."""

from events.webhooks.admin import deliveries, endpoints  # noqa: F401 - registers them
