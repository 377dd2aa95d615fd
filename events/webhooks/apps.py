"""The webhooks app."""

from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "events.webhooks"
    label = "webhooks"
