"""`/.well-known/security.txt` (RFC 9116): whom to tell about a vulnerability of this service."""

from datetime import timedelta

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone

from config.runtime.request_context import base_url

VALID = timedelta(days=90)  # the RFC recommends less than a year


def page(request: HttpRequest) -> HttpResponse:
    """The contact of the operator.

    Raises:
        Http404: SECURITY_CONTACT is not set.
    """
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = timezone.now() + VALID
    lines = {
        "Contact": settings.SECURITY_CONTACT,
        "Expires": f"{expires:%Y-%m-%dT00:00:00Z}",
        "Canonical": base_url(request) + request.path,
    }
    text = "".join(f"{name}: {value}\n" for name, value in lines.items())
    return HttpResponse(text, content_type="text/plain; charset=utf-8")
