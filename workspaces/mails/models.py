"""E-mails that wait, what e-mails were added about, and the choices of users."""

from django.conf import settings
from django.db import models
from django.utils import timezone


class Mail(models.Model):
    """An e-mail that waits. It may have a secret link, so its row is deleted once it is sent."""

    to = models.EmailField()
    # Whose choice of which kind led to it; without them it is sent whatever anybody chooses.
    user = models.ForeignKey(settings.AUTH_USER_MODEL, models.CASCADE, null=True, related_name="+")
    kind = models.CharField(max_length=20)
    daily = models.BooleanField(default=False)  # one e-mail with the user's others of the day
    subject = models.CharField(max_length=500)
    text = models.TextField()
    planned_at = models.DateTimeField(default=timezone.now)  # it is given up a day later
    due_at = models.DateTimeField(default=timezone.now, db_index=True)  # the next attempt
    attempts = models.PositiveSmallIntegerField(default=0)
    error = models.CharField(max_length=100)  # of the last attempt

    def __str__(self) -> str:
        return f"{self.subject} to {self.to}"


class Notified(models.Model):
    """Something about which e-mails were added, such as "entry 17": no others will be."""

    what = models.CharField(max_length=200, primary_key=True)
    at = models.DateTimeField(default=timezone.now, db_index=True)

    def __str__(self) -> str:
        return self.what


class Choice(models.Model):
    """What a user has chosen: `workspaces.mails.kinds.MODES` by kind."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, models.CASCADE, primary_key=True)
    modes = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"{self.user}: {self.modes}"
