from django.apps import AppConfig


class UsageConfig(AppConfig):
    name = "apikeys.usage"
    label = "usage"
    verbose_name = "Requests"
