"""The forms for operators."""

from typing import TYPE_CHECKING, Any

from django import forms

from workspaces.models import Membership, Workspace

if TYPE_CHECKING:
    WorkspaceModelForm = forms.ModelForm[Workspace]
    MembershipModelForm = forms.ModelForm[Membership]
else:  # generic only in the stubs
    WorkspaceModelForm = MembershipModelForm = forms.ModelForm


class WorkspaceForm(WorkspaceModelForm):
    """The plan and the suspension. A plan that is no longer offered can be kept."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        plan = self.fields.get("plan")
        if isinstance(plan, forms.TypedChoiceField) and not plan.valid_value(self.instance.plan):
            retired = (self.instance.plan, f"{self.instance.plan} (no longer offered)")
            offered: Any = plan.choices
            plan.choices = [retired, *offered]

    def _get_validation_exclusions(self) -> set[str]:
        # The field above has validated the plan; the model's choices lack a retired one.
        return {*super()._get_validation_exclusions(), "plan"}  # type: ignore[misc]


class MembershipForm(MembershipModelForm):
    """A member's role; the user cannot be changed."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "user" in self.fields:
            self.fields["user"].disabled = bool(self.instance.pk)
            widget: Any = self.fields["user"].widget
            # No buttons next to it: accounts have their own pages.
            widget.can_add_related = widget.can_change_related = widget.can_view_related = False
