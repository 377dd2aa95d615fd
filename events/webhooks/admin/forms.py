from django import forms

from events.models import EventType
from events.webhooks import policy, targets
from workspaces.forms import OwnWorkspaceForm, without_secrets


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
        choices=[(type.value, type.value) for type in EventType],
        initial=[EventType.COMPLETED.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )

    def clean_url(self) -> str:
        url = without_secrets(self.cleaned_data["url"])
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
    """Also names its workspace, and creates at most one."""
