"""Changing one's own name; the audit log gets it from the account's signal."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator
from django.views.decorators.cache import never_cache

from config.console.base import request_user
from workspaces.accounts.forms import NameForm
from workspaces.accounts.pages import FormView, SitePage


@method_decorator(never_cache, name="dispatch")
class ChangeName(SitePage, FormView):
    """The names that others see beside the user's e-mail address."""

    form_class = NameForm
    template_name = "admin/security/name.html"
    success_url = reverse_lazy("admin:security")
    title = "Change your name"
    extra_context = {"crumbs": [("Security", reverse_lazy("admin:security"))]}

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "instance": request_user(self.request)}

    def form_valid(self, form: Any) -> HttpResponse:
        form.save()
        messages.success(self.request, "Your name was changed.")
        return super().form_valid(form)
