"""What is done to a webhook, each on a page that asks or by a button."""

from typing import Any

from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.html import format_html

from audit.scope import own_scope
from config.console.formatting import isolated, time_tag
from config.console.links import ENDPOINT
from config.console.object_page import ActionPage, Button, Prompt, Refused
from events.models import KEEP_DAYS
from events.webhooks import services
from events.webhooks.admin import texts
from events.webhooks.admin.forms import EndpointForm, NewEndpointForm
from events.webhooks.models import Delivery, Endpoint

ENDPOINTS = "admin:webhooks_endpoint_changelist"


def secret_page(page: ActionPage, raw: str, *, title: str) -> HttpResponse:
    """The response to this POST is the only one that contains the secret."""
    about = [format_html("The webhook belongs to {}.", isolated(page.obj.workspace))]
    if until := page.obj.previous_secret_until:
        about.append(format_html("The previous secret signs too until {}.", time_tag(until)))
    return page.render_page(
        "admin/secret.html",
        title=title,
        what="secret",
        of=page.obj.name,
        raw=raw,
        if_lost="If it gets lost, roll it.",
        about=about,
        next_steps="admin/webhooks/endpoint/next_steps.html",
        endpoint=page.obj,
    )


class CreateEndpoint(ActionPage):
    form_class = NewEndpointForm

    def form_arguments(self) -> dict[str, Any]:
        return {"by": self.user, "workspace": own_scope(self.request).workspace}

    def prompt(self) -> Prompt:
        return Prompt(
            title="Create a webhook",
            button="Create the webhook",
            sentences=["The next page shows a secret, once. Have a safe place for it at hand."],
            warnings=filter(None, [texts.waiting(own_scope(self.request).workspace)]),
            facts=self.form.facts(),
        )

    def run(self) -> HttpResponse:
        values = self.form.cleaned_data
        try:
            self.obj, raw = services.create(
                workspace=values["workspace"],
                by=self.user,
                id=values["new_id"],
                **{name: values[name] for name in EndpointForm.base_fields},
            )
        except IntegrityError:
            raise Refused(
                "Nothing was created: this form has already created its webhook. A secret is "
                "shown only once; if you did not copy it, roll it.",
                reverse(ENDPOINT, args=[values["new_id"]]),
            ) from None
        return secret_page(self, raw, title="Webhook created")


class EndpointAction(ActionPage):
    """For admins of the webhook's workspace, unless it was deleted."""

    obj: Endpoint | Delivery

    @property
    def endpoint(self) -> Endpoint:
        return self.obj if isinstance(self.obj, Endpoint) else self.obj.endpoint

    def is_allowed(self) -> bool:
        return own_scope(self.request).is_own(self.endpoint.workspace_id)

    def check(self) -> None:
        if self.endpoint.deleted_at is not None:
            raise Http404

    def post(self, request: HttpRequest) -> HttpResponse:
        try:
            return super().post(request)
        except Endpoint.DoesNotExist:  # deleted meanwhile
            raise Http404 from None


class ChangeEndpoint(EndpointAction):
    form_class = EndpointForm

    def form_arguments(self) -> dict[str, Any]:
        fields = self.form_class.base_fields
        return {"initial": {name: getattr(self.endpoint, name) for name in fields}}

    def prompt(self) -> Prompt:
        return Prompt(title="Change the webhook", button="Save")

    def run(self) -> str:
        services.change(self.endpoint, **self.form.cleaned_data, by=self.user)
        return "The changes are saved."


class RollSecret(EndpointAction):
    """Asks, then shows the new secret. The form is for the present secret only."""

    def prompt(self) -> Prompt:
        both = self.endpoint.has_two_secrets
        return Prompt(
            title="Roll the secret?",
            button="Roll the secret",
            sentences=[
                "The next page shows a new secret, once. Have a safe place for it at hand.",
                "For 24 hours, deliveries have a signature of each secret, so that your program "
                "can change over. After that, only the new one signs.",
                *["The previous secret stops working now."] * both,
            ],
            hidden=[("seen", str(self.endpoint.previous_secret_until))],
        )

    def run(self) -> HttpResponse:
        seen = self.request.POST.get("seen", "")
        try:
            raw = services.roll_secret(self.endpoint, by=self.user, seen=seen)
        except services.Changed:
            raise Refused(
                "Nothing was rolled: the secret was rolled since this form was opened. A secret is "
                "shown only once; if you did not copy it, roll it again."
            ) from None
        self.endpoint.refresh_from_db(fields=["previous_secret_until"])
        return secret_page(self, raw, title="Secret rolled")


class SwitchOff(EndpointAction):
    def prompt(self) -> Prompt:
        return Prompt(
            title="Switch this webhook off?",
            button="Switch off",
            sentences=[
                f"Events that happen meanwhile are not sent to {self.endpoint.name}, also not "
                f"later. GET /api/v1/events has them for {KEEP_DAYS} days.",
                "Pending deliveries wait, and are sent once it is switched on again.",
            ],
            danger=True,
        )

    def run(self) -> str:
        services.switch_off(self.endpoint, by=self.user)
        return ""


class DeleteEndpoint(EndpointAction):
    def prompt(self) -> Prompt:
        return Prompt(
            title="Delete this webhook?",
            button="Delete this webhook",
            sentences=[
                f"Nothing more is sent to {self.endpoint.name}, and its secret is erased. Pending "
                "deliveries are discarded.",
                "Its deliveries of the last 30 days can still be seen on its page.",
            ],
            danger=True,
        )

    def run(self) -> str:
        services.delete(self.endpoint, by=self.user)
        return f"The webhook {self.endpoint.name} is deleted."

    @property
    def next_url(self) -> str:
        return reverse(ENDPOINTS)


class SwitchOn(EndpointAction, Button):
    """A second click does nothing."""

    def run(self) -> str:
        services.switch_on(self.endpoint, by=self.user)
        return "It is on: events from now on are sent to it."


class SendTestEvent(EndpointAction, Button):
    """Its delivery is on the same page, and says when it is sent."""

    def run(self) -> str:
        services.send_test_event(self.endpoint, by=self.user)
        return "A test event was added."


class SendFailedAgain(EndpointAction, Button):
    def run(self) -> str:
        count = services.send_again(self.endpoint, by=self.user)
        return f"Deliveries to send again: {count:,}."


class SendAgain(EndpointAction, Button):
    """One delivery, whatever became of it."""

    obj: Delivery

    def run(self) -> str:
        if not services.send_again(self.endpoint, by=self.user, only=self.obj):
            raise Refused("Nothing was changed: it is being sent already.")
        return "It was added to those that are sent again."
