"""Pages of e-mails: one's choices, the link that ends a kind, and the mailbox of `make run`."""

import email
import email.policy
from pathlib import Path

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST, require_safe

from config.console.base import request_user
from workspaces.accounts.pages import page
from workspaces.mails import unsubscribing
from workspaces.mails.kinds import KINDS, MODES, choices_of

SHOWN = 50  # e-mails of the mailbox


@require_POST
def choose(request: HttpRequest) -> HttpResponse:
    """Stores the choices of the page Security."""
    user = request_user(request)
    chosen = {slug: request.POST.get(slug, "") for slug, _, _ in choices_of(user)}
    modes = {slug: mode for slug, mode in chosen.items() if mode in MODES}
    unsubscribing.choose(user.pk, modes)
    messages.success(request, "Your choice of e-mails was saved.")
    return HttpResponseRedirect(reverse("admin:security"))


@never_cache
@csrf_exempt  # mail programs send it (RFC 8058); the token says whose choice it is
def off(request: HttpRequest) -> HttpResponse:
    """Asks, then ends e-mails of the link's kinds. A mail program may open links: GET ends none."""
    found = unsubscribing.read(request.GET.get("token", ""))
    known = found and User.objects.filter(pk=found[0]).exists()
    kinds = [slug for slug in found[1] if slug in KINDS] if found and known else []
    done = request.method == "POST" and bool(kinds)
    if found and done:
        unsubscribing.choose(found[0], dict.fromkeys(kinds, "off"))
    titles = [KINDS[slug].title for slug in kinds]
    return page(request, "mails/off.html", title="E-mails", titles=titles, done=done)


@never_cache
@require_safe
def mailbox(request: HttpRequest) -> HttpResponse:
    """The e-mails that `make run` has written to files, the newest first, for everybody there."""
    if not settings.EMAIL_FILE_PATH or settings.HTTPS_ONLY:
        raise Http404
    files = sorted(Path(settings.EMAIL_FILE_PATH).glob("*.log"), reverse=True)[:SHOWN]
    mails = []
    for file in files:
        message = email.message_from_bytes(file.read_bytes(), policy=email.policy.default)
        body = message.get_body(("plain",))
        text = body.get_content() if body else ""
        mails.append({name: message[name] for name in ("subject", "to", "date")} | {"text": text})
    return page(request, "mails/mailbox.html", title="Mailbox", mails=mails)
