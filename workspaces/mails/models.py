"""E-mails that wait, what was told already, and the choices of users."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Mail(models.Model):
    """An e-mail that waits. It may have a secret link, so its row is deleted once it is sent.

    Attributes:
        to: an address.
        user, kind: whose choice led to it; without them it is sent whatever anybody chooses.
        daily: sent with the others of the same day to this user, as one e-mail.
        planned_at: when it should be sent; it is given up a day later.
        due_at: when the next attempt is due. An attempt that runs has moved it.
        error: of the last attempt.
    """

    to = models.EmailField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=20, blank=True)
    daily = models.BooleanField(default=False)
    subject = models.CharField(max_length=500)
    text = models.TextField()
    planned_at = models.DateTimeField(default=timezone.now)
    due_at = models.DateTimeField(default=timezone.now, db_index=True)
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=100, blank=True)

    def __str__(self) -> str:
        return f"{self.subject} to {self.to}"


class Told(models.Model):
    """Something that users were told of, or need not be: nobody is told of it twice."""

    what = models.CharField(max_length=200, primary_key=True)  # "entry 17"
    at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return self.what


class Choice(models.Model):
    """What a user has chosen: the kinds of e-mails with "now", "daily" or "off"."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True)
    modes = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.user}: {self.modes}"
