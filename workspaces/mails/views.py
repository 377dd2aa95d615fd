"""Pages of e-mails: the link that ends a kind, and the mailbox of `make run`."""

from django.conf import settings
from django.core.signing import BadSignature, loads
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt

from workspaces.accounts.pages import page
from workspaces.mails import kinds
from workspaces.mails.models import Mail


@never_cache
@csrf_exempt  # mail programs send it (RFC 8058); the token says whose choice it is
def off(request: HttpRequest) -> HttpResponse:
    """Asks, then ends e-mails of the link's kinds. A mail program may open it: GET ends none."""
    try:
        user_id, *slugs = loads(request.GET.get("token", ""), salt="mails off")
    except BadSignature:
        user_id, slugs = 0, []
    done = request.method == "POST" and bool(slugs)
    if done:
        kinds.choose(user_id, dict.fromkeys(slugs, "off"))
    titles = [kinds.KINDS[slug] for slug in slugs if slug in kinds.KINDS]
    return page(request, "mails/off.html", title="E-mails", titles=titles, done=done)


@never_cache
def mailbox(request: HttpRequest) -> HttpResponse:
    """The newest e-mails of `make run`, which sends none, for everybody there."""
    if not settings.MAILBOX or settings.HTTPS_ONLY:
        raise Http404
    mails = Mail.objects.exclude(to="").order_by("-pk")[:50]
    return page(request, "mails/mailbox.html", title="Mailbox", mails=mails)
