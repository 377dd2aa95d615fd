"""What is done to a webhook, each on a page that asks or by a button."""

from typing import Any

from django.db import IntegrityError
from django.forms import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import pluralize
from django.utils.html import escape

from audit.scope import own_scope
from config.console.formatting import Bad
from config.console.object_page import ActionPage, Button, Prompt, Refused
from events.models import KEEP_DAYS
from events.webhooks import services
from events.webhooks.admin.forms import EndpointForm, NewEndpointForm
from events.webhooks.models import Endpoint
from workspaces.api_access import access_warning


def may_change(request: HttpRequest, endpoint: Endpoint) -> bool:
    """Whether the user may change the endpoint: it exists, in an own workspace."""
    return endpoint.deleted_at is None and own_scope(request).is_own(endpoint.workspace_id)


def refusals(request: HttpRequest) -> list[str]:
    """Why nothing is sent to webhooks of the workspace that is looked at, if it has no access."""
    workspace = own_scope(request).workspace
    why = workspace and access_warning(workspace, "nothing is sent to webhooks")
    return [Bad(escape(why))] if why else []


def secret_page(page: ActionPage, raw: str, title: str) -> HttpResponse:
    """The response to this POST is the only one that contains the secret."""
    return page.render_page(
        "admin/secret.html",
        title=title,
        warnings=refusals(page.request),
        what="secret",
        of=page.obj.name,
        raw=raw,
        if_lost="If it gets lost, roll it.",
        next_steps="admin/webhooks/endpoint/next_steps.html",
        endpoint=page.obj,
    )


class CreateEndpoint(ActionPage):
    form_class = NewEndpointForm

    def prompt(self) -> Prompt:
        return Prompt(
            title="Create a webhook",
            button="Create the webhook",
            warnings=refusals(self.request),
            sentences=["The next page shows a secret, once. Have a safe place for it at hand."],
            workspace=own_scope(self.request).workspace,
        )

    def run(self) -> HttpResponse:
        new = {"workspace": own_scope(self.request).workspace, **self.form.cleaned_data}
        try:
            self.obj, raw = services.create(by=self.user, **new)
        except IntegrityError:
            raise Refused(
                "Nothing was created: this form has already created its webhook. A secret is "
                "shown only once; if you did not copy it, roll it."
            ) from None
        return secret_page(self, raw, "Webhook created")


class EndpointAction(ActionPage):
    @property
    def endpoint(self) -> Endpoint:
        found: Endpoint = getattr(self.obj, "endpoint", self.obj)  # a delivery has one
        return found

    def is_allowed(self) -> bool:
        return may_change(self.request, self.endpoint)


class ChangeEndpoint(EndpointAction):
    form_class = EndpointForm

    def form_arguments(self) -> dict[str, Any]:
        return {"initial": model_to_dict(self.endpoint, ["url", "label", "types"])}

    def prompt(self) -> Prompt:
        return Prompt(title="Change the webhook", button="Save")

    def run(self) -> str:
        services.change(self.endpoint, **self.form.cleaned_data, by=self.user)
        return "The changes are saved."


class RollSecret(EndpointAction):
    """Asks, then shows the new secret. The form is for the present secret only."""

    def prompt(self) -> Prompt:
        return Prompt(
            title="Roll the secret?",
            button="Roll the secret",
            sentences=[
                "The next page shows a new secret, once. Have a safe place for it at hand.",
                "For 24 hours, deliveries have a signature of each secret, so that your program "
                "can change over. A secret that was rolled before stops working now.",
            ],
            hidden=[("seen", str(self.endpoint.previous_secret_until))],
        )

    def run(self) -> HttpResponse:
        seen = self.request.POST.get("seen", "")
        raw = services.roll_secret(self.endpoint, by=self.user, seen=seen)
        return secret_page(self, raw, "Secret rolled")


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

    def run(self) -> None:
        services.switch_off(self.endpoint, by=self.user)


class DeleteEndpoint(EndpointAction):
    def prompt(self) -> Prompt:
        return Prompt(
            title="Delete this webhook?",
            button="Delete this webhook",
            sentences=[
                f"Nothing more is sent to {self.endpoint.name}, and its secret is erased. Pending "
                "deliveries are discarded.",
                "Its page keeps the deliveries of the last 30 days. The log leads there.",
            ],
            danger=True,
        )

    def run(self) -> None:
        services.delete(self.endpoint, by=self.user)


class SwitchOn(EndpointAction, Button):
    def run(self) -> str:
        services.switch_on(self.endpoint, by=self.user)
        return "It is on: events from now on are sent to it."


class SendTestEvent(EndpointAction, Button):
    def run(self) -> str:
        services.send_test_event(self.endpoint, by=self.user)
        return "A test event was created; this page shows what becomes of it."


class SendFailedAgain(EndpointAction, Button):
    def run(self) -> str:
        count = services.send_again(self.endpoint, by=self.user)
        deliveries = f"{count:,} deliver{pluralize(count, 'y is,ies are')}"
        return f"{deliveries} sent again as soon as possible."


class SendAgain(EndpointAction, Button):
    """One delivery, whatever became of it."""

    @property
    def back(self) -> str:
        """The list as it was: with its filters, and the delivery opened."""
        return f"{self.section.list_url()}?{self.request.GET.urlencode()}#open"

    def run(self) -> str:
        if not services.send_again(self.endpoint, by=self.user, only=self.obj):
            raise Refused("Nothing was changed: it is due already.")
        return "It is sent again as soon as possible."
