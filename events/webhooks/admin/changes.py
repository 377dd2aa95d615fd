"""What a workspace's admin does with a webhook: each page and button, with its permission."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http import HttpResponseRedirect as Redirect
from django.urls import URLPattern, path, reverse
from django.utils.crypto import salted_hmac
from django.utils.html import format_html

from config.admin.base import request_user
from config.admin.reauthentication import recent_sign_in_required
from events.models import KEEP_DAYS
from events.webhooks import services
from events.webhooks.admin.access import (
    ENDPOINT,
    LIST,
    missed,
    require_own,
    sent_once,
    waiting,
    workspace_label,
)
from events.webhooks.admin.deliveries import place, sent_again
from events.webhooks.admin.forms import EndpointForm
from events.webhooks.admin.secret import CONFIRM, FORM, SecretPages
from events.webhooks.models import Endpoint

PAGES = ("edit", "roll", "switch_on", "switch_off", "test", "again")


def switch_on(endpoint: Endpoint, user: User) -> str:
    off_since = services.switch_on(endpoint, by=user)
    if off_since is None:  # a second click
        return ""
    when = "once the workspace may use the API" if waiting(endpoint.workspace) else "now"
    return format_html(
        "It is on: events from now on are sent to it. Pending deliveries are sent {}. {}",
        when,
        missed(off_since),
    )


def test(endpoint: Endpoint, user: User) -> str:
    services.send_test_event(endpoint, by=user)
    if when := sent_once(endpoint):
        return f"A test event was added. It is sent {when}."
    return "A test event is on its way. Reload this page to see the result."


def again(endpoint: Endpoint, user: User) -> str:
    count = services.send_failed_again(endpoint, by=user)
    if not count:
        return "No deliveries to send again."
    return f"{count:,} {'delivery is' if count == 1 else 'deliveries are'} {sent_again(endpoint)}."


def fingerprint(endpoint: Endpoint) -> str:
    """Tells a form that shows other values."""
    values = "\n".join([endpoint.url, *endpoint.types])
    return salted_hmac("events.webhooks.edit", values).hexdigest()


BUTTONS: dict[str, Callable[[Endpoint, User], str]] = {
    each.__name__: each for each in (switch_on, test, again)
}


class EndpointChanges(SecretPages):
    """Adds the pages and buttons that change something."""

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.sub_page)
        own = [
            path(
                f"<path:object_id>/{name}/",
                view,
                {"name": name},
                name=f"webhooks_endpoint_{name}",
            )
            for name in PAGES
        ]
        return [*own, *super().get_urls()]

    def sub_page(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """One of `PAGES`, or the page that deletes."""
        endpoint: Endpoint = self.visible_or_404(request, object_id)
        require_own(request, endpoint)
        try:
            if name not in BUTTONS:
                page: Callable[..., HttpResponse] = getattr(self, name)
                recent_sign_in_required(request)
                return page(request, endpoint)
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            if text := BUTTONS[name](endpoint, request_user(request)):
                messages.success(request, text)
        except Endpoint.DoesNotExist:  # deleted meanwhile
            raise Http404 from None
        return Redirect(reverse(ENDPOINT, args=[endpoint.pk]))

    def edit(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        initial = {"url": endpoint.url, "types": endpoint.types}
        form = EndpointForm(request.POST if request.method == "POST" else None, initial=initial)
        back = reverse(ENDPOINT, args=[endpoint.pk])
        shown = fingerprint(endpoint)
        if form.is_valid():
            url, types = form.cleaned_data["url"], form.cleaned_data["types"]
            same = (url, types) == (endpoint.url, endpoint.types)
            try:
                if not same and request.POST.get("shown") != shown:
                    raise services.Changed
                services.change(endpoint, url=url, types=types, by=request_user(request))
            except services.Changed:
                endpoint.refresh_from_db(fields=["url", "types"])
                shown = fingerprint(endpoint)
                form.add_error(
                    None,
                    "The webhook was changed since you opened this form. Its URL is now "
                    f"{endpoint.url}, its events are {', '.join(endpoint.types)}. Look at the form "
                    "again: saving it replaces these.",
                )
            else:
                messages.success(request, "The changes are saved.")
                return Redirect(back)
        return self.page(
            request,
            FORM,
            title="Change the webhook",
            crumbs=place(endpoint),
            endpoint=endpoint,
            form=form,
            shown=shown,
            workspaces={endpoint.workspace_id: workspace_label(request, endpoint.workspace)},
            back=back,
        )

    def switch_off(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        back = reverse(ENDPOINT, args=[endpoint.pk])
        if request.method == "POST" or not endpoint.enabled:
            services.switch_off(endpoint, by=request_user(request))
            return Redirect(back)  # whose page says what that means
        return self.page(
            request,
            CONFIRM,
            title="Switch this webhook off?",
            crumbs=place(endpoint),
            sentences=[
                f"Events that happen meanwhile are not sent to {endpoint.name}, also not later. "
                f"GET /api/v1/events has them for {KEEP_DAYS} days.",
                "Pending deliveries wait, and are sent once it is switched on again.",
            ],
            button="Switch off",
            danger=True,
            back=back,
        )

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        return self.sub_page(request, object_id, "remove")

    def remove(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        if request.method == "POST":
            services.delete(endpoint, by=request_user(request))
            messages.success(request, f"The webhook {endpoint.name} is deleted.")
            return Redirect(reverse(LIST))
        return self.page(
            request,
            CONFIRM,
            title="Delete this webhook?",
            crumbs=place(endpoint),
            sentences=[
                f"Nothing more is sent to {endpoint.name}, and its secret is erased. Pending "
                "deliveries are discarded.",
                "Its deliveries of the last 30 days can still be seen on its page.",
            ],
            button="Delete this webhook",
            danger=True,
            back=reverse(ENDPOINT, args=[endpoint.pk]),
        )
