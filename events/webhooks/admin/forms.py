from django import forms

from config.console.object_page import OnceForm
from events.models import EventType
from events.webhooks import policy, targets
from workspaces.forms import TextField


class EndpointForm(forms.Form):
    url = TextField(
        label="URL",
        help_text="Where your program receives events, such as https://example.com/webhooks.",
        widget=forms.TextInput({"inputmode": "url", "autofocus": True, "spellcheck": "false"}),
        validators=[targets.check_url],
    )
    label = TextField(
        label="Name (optional)",
        required=False,
        max_length=policy.LABEL_LENGTH,
        help_text="Such as “CRM, production”. Without one, pages show its host and an id.",
    )
    types = forms.MultipleChoiceField(
        label="Events",
        choices=[(type.value, type.value) for type in EventType],
        initial=[EventType.COMPLETED.value],
        widget=forms.CheckboxSelectMultiple,
        error_messages={"required": "Choose at least one."},
    )


class NewEndpointForm(OnceForm, EndpointForm):
    """Creates at most one."""
