"""The usage of keys: an app of its own inside of `apikeys`, with its own tables."""

from django.apps import AppConfig


class UsageConfig(AppConfig):
    name = "apikeys.usage"
    label = "usage"
    verbose_name = "Requests"
