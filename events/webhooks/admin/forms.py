from typing import Any

from django import forms
from django.db.models import Q
from django.http import QueryDict

from audit.admin.search import ids_in
from audit.admin.workspace_filter import WorkspaceField, own_workspace_field
from config.console.changelist import FilterForm, SearchField, any_of
from config.request.redaction import contains_raw_key
from events.models import Event, EventType
from events.webhooks import policy, targets
from events.webhooks.models import PENDING, TEST_EVENT, DeliveryState, Endpoint
from workspaces.forms import OwnWorkspaceForm, without_secrets

MOST_EVENTS = 1000  # of the documents that are searched for
MEANINGS = {
    EventType.CREATED: "the document is new in the workspace.",
    EventType.SENT: "it was sent to its recipients.",
    EventType.VIEWED: "a recipient has viewed it.",
    EventType.PARTIALLY_SIGNED: "the first recipient has signed or approved it.",
    EventType.COMPLETED: "everyone has finished; the signed PDF and the certificate exist.",
    EventType.DECLINED: "a recipient has declined.",
    EventType.EXPIRED: "it was not finished by everyone in time.",
    EventType.CANCELLED: "it was called off.",
    EventType.DELETED: "the document was deleted.",
}


class EndpointForm(forms.Form):
    url = forms.CharField(
        label="URL",
        help_text="Where your program receives events, such as https://example.com/webhooks.",
        widget=forms.TextInput({"inputmode": "url", "autofocus": True, "spellcheck": "false"}),
    )
    label = forms.CharField(
        label="Name (optional)",
        required=False,
        max_length=policy.LABEL_LENGTH,
        help_text="Such as “CRM, production”. Without one, pages show the URL.",
    )
    types = forms.MultipleChoiceField(
        label="Events",
        choices=[(type.value, f"{type.value}: {MEANINGS[type]}") for type in EventType],
        initial=[EventType.COMPLETED.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )

    def clean_url(self) -> str:
        url: str = self.cleaned_data["url"]
        if contains_raw_key(url):
            raise forms.ValidationError(
                "The URL must not contain an API key: all admins can read it. Revoke that key."
            )
        try:
            targets.check_url(url)
        except ValueError as exc:
            raise forms.ValidationError(str(exc)) from exc
        return url

    def clean_label(self) -> str:
        return without_secrets(self.cleaned_data["label"])

    def clean_types(self) -> list[str]:
        """In the order of the form, once each."""
        return [type.value for type in EventType if type in self.cleaned_data["types"]]


class NewEndpointForm(OwnWorkspaceForm, EndpointForm):
    """Asks for the workspace too, if the user is an admin of several."""

    field_order = ("workspace", "url", "label", "types")


EXISTING = Q(deleted_at=None)
STATES = {
    "on": ("On", EXISTING & Q(enabled=True, failing_since=None)),
    "failing": ("Failing", EXISTING & Q(enabled=True, failing_since__isnull=False)),
    "off": ("Switched off", EXISTING & Q(enabled=False)),
    "deleted": ("Deleted", ~EXISTING),
}
DELIVERY_STATES = {
    "PENDING": ("Pending", PENDING & Q(failures=0)),
    "RETRYING": ("Retrying", PENDING & Q(failures__gt=0)),
    "DELIVERED": ("Delivered", Q(state=DeliveryState.DELIVERED)),
    "FAILED": ("Failed", Q(state=DeliveryState.FAILED)),
}


def state_field(states: dict[str, tuple[str, Q]]) -> forms.ChoiceField:
    return any_of("State", [(name, label) for name, (label, _) in states.items()])


class EndpointFilter(FilterForm):
    """The filters of the list of webhooks; `own` is None for a user who sees every workspace."""

    state = state_field(STATES)
    workspace: forms.Field = WorkspaceField()

    def __init__(self, data: QueryDict, own: Any = None) -> None:
        super().__init__(data)
        if own is not None:
            self.fields["workspace"] = own_workspace_field(own)

    def condition(self) -> Q:
        values = self.cleaned_data
        found = STATES[values["state"]][1] if values["state"] else EXISTING
        return found & Q(workspace_id=values["workspace"]) if values["workspace"] else found


class DeliveryFilter(FilterForm):
    q = SearchField(
        "The id of an event (evt_…), or the id or URL of a document", "Event or document"
    )
    state = state_field(DELIVERY_STATES)
    type = any_of("Kind", [(each, each) for each in (*EventType.values, TEST_EVENT)])

    def __init__(self, data: QueryDict, endpoint: Endpoint | None) -> None:
        super().__init__(data)
        self.endpoint = endpoint

    def clean_q(self) -> list[Any]:
        text: str = self.cleaned_data["q"]
        ids = ids_in(text)
        if text and not ids:
            raise forms.ValidationError("Enter the whole id of an event or of a document.")
        of_documents = Event.objects.filter(document_id__in=ids).values_list("uuid", flat=True)
        return [*ids, *of_documents[:MOST_EVENTS]] if ids else []

    def clean(self) -> dict[str, Any]:
        values = self.cleaned_data
        searched = self.endpoint or "q" in self.errors or values.get("q")
        if not searched and (values.get("state") or values.get("type")):
            self.add_error("q", "Enter the id of an event or of a document too.")
        return values

    def condition(self) -> Q:
        values = self.cleaned_data
        found = DELIVERY_STATES[values["state"]][1] if values["state"] else Q()
        return found & Q(type=values["type"]) if values["type"] else found

    def alternatives(self) -> list[Q]:
        searched = Q(event_id__in=self.cleaned_data["q"]) if self.cleaned_data["q"] else None
        if self.endpoint is None:
            return [searched] if searched else []
        of_endpoint = Q(endpoint=self.endpoint)
        return [of_endpoint & searched if searched else of_endpoint]
