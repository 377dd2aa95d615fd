"""The admin's pages of webhooks and their deliveries."""

from events.webhooks.admin import deliveries, endpoints

__all__ = ["deliveries", "endpoints"]
