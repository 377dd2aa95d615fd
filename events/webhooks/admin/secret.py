"""The pages that show a secret, once: a new webhook, and a new secret."""

from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http import HttpResponseRedirect as Redirect
from django.urls import reverse
from django.utils.crypto import constant_time_compare, salted_hmac

from config.admin.base import request_user
from config.admin.reauthentication import recent_sign_in_required
from events.webhooks import policy, services
from events.webhooks.admin.access import (
    ENDPOINT,
    LIST,
    WebhookAccess,
    both_secrets,
    waiting,
    workspace_label,
)
from events.webhooks.admin.deliveries import place
from events.webhooks.admin.forms import NewEndpointForm
from events.webhooks.models import Endpoint
from workspaces.directory import own_workspaces
from workspaces.permissions import administered_by

FORM = "admin/webhooks/endpoint/form.html"
CONFIRM = "admin/workspaces/workspace/confirm.html"


class SecretPages(WebhookAccess):
    """Adds those pages; `EndpointChanges` checks who may roll."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return bool(own_workspaces(request))

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        if not self.has_add_permission(request):
            raise PermissionDenied
        recent_sign_in_required(request)
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
            endpoint, raw = services.create(
                workspace=form.chosen_workspace(),
                url=values["url"],
                types=values["types"],
                by=request_user(request),
                id=values["new_id"],
            )
        except services.TooMany:
            form.add_error(
                None,
                f"A workspace may have {policy.MOST_ENDPOINTS} webhooks. Delete one that is not "
                "needed.",
            )
            return None
        except services.AlreadyCreated:
            messages.warning(
                request,
                "Nothing was created: this form has already created its webhook. A secret is "
                "shown only once; if you did not copy it, roll it.",
            )
            return Redirect(reverse(ENDPOINT, args=[values["new_id"]]))
        return self.secret_page(request, endpoint, raw, title="Webhook created")

    def roll(self, request: HttpRequest, endpoint: Endpoint) -> HttpResponse:
        """Asks, then shows the new secret. The form is for the present secret only."""
        back = reverse(ENDPOINT, args=[endpoint.pk])
        present = salted_hmac("events.webhooks.roll", endpoint.secret).hexdigest()
        if request.method == "POST":
            if constant_time_compare(request.POST.get("present", ""), present):
                raw = services.roll_secret(endpoint, by=request_user(request))
                endpoint.refresh_from_db(fields=["previous_secret_until"])
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
            sentences.append("The previous secret stops working now.")
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
