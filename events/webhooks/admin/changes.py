"""What a workspace's admin does with a webhook: each page and button, with its permission."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.http import HttpResponseRedirect as Redirect
from django.urls import URLPattern, path, reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from config.admin.base import request_user
from config.admin.reauthentication import recent_sign_in_required
from events.webhooks import life
from events.webhooks.admin.access import (
    ENDPOINT,
    LIST,
    WebhookAccess,
    both_secrets,
    require_own,
    waiting,
    workspace_label,
)
from events.webhooks.admin.deliveries import place
from events.webhooks.admin.forms import EndpointForm, NewEndpointForm
from events.webhooks.models import Endpoint
from workspaces.directory import own_workspaces
from workspaces.permissions import administered_by

FORM = "admin/webhooks/endpoint/form.html"
CONFIRM = "admin/workspaces/workspace/confirm.html"
PAGES = ("edit", "roll", "switch_on", "switch_off", "test", "again")


def switch_on(endpoint: Endpoint, user: User) -> str:
    life.switch_on(endpoint, by=user)
    return "It is on: events from now on are sent to it, and so is what waited."


def switch_off(endpoint: Endpoint, user: User) -> str:
    life.switch_off(endpoint, by=user)
    return "It is switched off. Events that happen meanwhile are not sent to it, also not later."


def test(endpoint: Endpoint, user: User) -> str:
    life.send_test_event(endpoint, by=user)
    return "A test event is on its way. Reload this page to see what became of it."


def again(endpoint: Endpoint, user: User) -> str:
    count = life.send_failed_again(endpoint, by=user)
    if not count:
        return "No delivery has failed."
    return f"{count:,} {'delivery is' if count == 1 else 'deliveries are'} being sent again."


BUTTONS: dict[str, Callable[[Endpoint, User], str]] = {
    each.__name__: each for each in (switch_on, switch_off, test, again)
}


class EndpointChanges(WebhookAccess):
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

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(own_workspaces(request))

    def sub_page(self, request: HttpRequest, object_id: str, name: str) -> HttpResponse:
        """One of `PAGES`."""
        endpoint: Endpoint = self.visible_or_404(request, object_id)
        require_own(request, endpoint)
        try:
            if name not in BUTTONS:
                page: Callable[..., HttpResponse] = getattr(self, name)
                return recent_sign_in_required(request) or page(request, endpoint)
            if request.method != "POST":
                return HttpResponseNotAllowed(["POST"])
            messages.success(request, BUTTONS[name](endpoint, request_user(request)))
        except Endpoint.DoesNotExist:  # deleted meanwhile
            raise Http404 from None
        return Redirect(reverse(ENDPOINT, args=[endpoint.pk]))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        if response := recent_sign_in_required(request):
            return response
        user = request_user(request)
        form = NewEndpointForm(request.POST if request.method == "POST" else None, by=user)
        if form.is_valid() and (response := self.create(request, form)):
            return response
        warnings = [waiting(each) for each in administered_by(user)]
        return self.page(
            request,
            FORM,
            title="Create a webhook",
            form=form,
            workspaces=own_workspaces(request),
            warnings=[text for text in warnings if text],
            back=reverse(LIST),
        )

    def create(self, request: HttpRequest, form: NewEndpointForm) -> HttpResponse | None:
        """The page with the new secret; None with an error in the form."""
        values = form.cleaned_data
        try:
            endpoint, raw = life.create(
                workspace=form.chosen_workspace(),
                url=values["url"],
                types=values["types"],
                by=request_user(request),
                id=values["new_id"],
            )
        except life.TooMany:
            form.add_error(
                None, f"A workspace may have {life.MOST} webhooks. Delete one that is not needed."
            )
            return None
        except life.AlreadyCreated:
            messages.warning(
                request,
                "Nothing was created: this form has already created its webhook. A secret is "
                "shown only once; if you did not copy it, roll it.",
            )
            return Redirect(reverse(ENDPOINT, args=[values["new_id"]]))
        return self.secret_page(request, endpoint, raw, title="Webhook created")

    def edit(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        initial = {"url": endpoint.url, "types": endpoint.types}
        form = EndpointForm(request.POST if request.method == "POST" else None, initial=initial)
        back = reverse(ENDPOINT, args=[endpoint.pk])
        if form.is_valid():
            life.change(
                endpoint,
                url=form.cleaned_data["url"],
                types=form.cleaned_data["types"],
                by=request_user(request),
            )
            messages.success(request, "The changes are saved.")
            return Redirect(back)
        return self.page(
            request,
            FORM,
            title="Change the webhook",
            crumbs=place(endpoint),
            endpoint=endpoint,
            form=form,
            workspaces={endpoint.workspace_id: workspace_label(request, endpoint.workspace)},
            back=back,
        )

    def roll(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        """Asks, then shows the new secret. The form is for the present secret only."""
        back = reverse(ENDPOINT, args=[endpoint.pk])
        present = salted_hmac("events.webhooks.roll", endpoint.secret).hexdigest()
        if request.method == "POST":
            if constant_time_compare(request.POST.get("present", ""), present):
                raw = life.roll_secret(endpoint, by=request_user(request))
                return self.secret_page(request, endpoint, raw, title="Secret rolled")
            messages.warning(
                request,
                "Nothing was rolled: the secret has changed since this form was opened. A secret "
                "is shown only once; if you did not copy it, roll it again.",
            )
            return Redirect(back)
        sentences = [
            "The next page shows a new secret, once. Have a safe place for it at hand.",
            "For 24 hours, deliveries have a signature of each secret, so that your program can "
            "change over. After that, only the new one signs.",
        ]
        if both_secrets(endpoint):
            sentences.append("The secret before the present one signs no more from now on.")
        return self.page(
            request,
            CONFIRM,
            title="Roll the secret?",
            crumbs=place(endpoint),
            sentences=sentences,
            hidden={"present": present},
            button="Roll the secret",
            back=back,
        )

    def secret_page(
        self, request: HttpRequest, endpoint: Endpoint, raw: str, *, title: str
    ) -> HttpResponse:
        """The response to this POST is the only one that contains the secret."""
        return self.page(
            request,
            "admin/webhooks/endpoint/secret.html",
            title=title,
            crumbs=place(endpoint),
            endpoint=endpoint,
            raw=raw,
            workspace=workspace_label(request, endpoint.workspace),
        )

    def delete_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        endpoint: Endpoint = self.visible_or_404(request, object_id)
        require_own(request, endpoint)
        if response := recent_sign_in_required(request):
            return response
        if request.method == "POST":
            try:
                life.delete(endpoint, by=request_user(request))
            except Endpoint.DoesNotExist:
                raise Http404 from None
            messages.success(request, f"The webhook {endpoint.name} is deleted.")
            return Redirect(reverse(LIST))
        return self.page(
            request,
            CONFIRM,
            title="Delete this webhook?",
            crumbs=place(endpoint),
            sentences=[
                f"Nothing more is sent to {endpoint.name}, and its secret is erased. What "
                "waits for it is lost.",
                "Its deliveries of the last 30 days can still be seen on its page.",
            ],
            button="Delete this webhook",
            danger=True,
            back=reverse(ENDPOINT, args=[endpoint.pk]),
        )
