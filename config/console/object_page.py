"""Pages of our own: one shows an object, one does something with it after asking."""

import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple

from django import forms
from django.contrib import messages
from django.contrib.admin import site
from django.contrib.auth.models import User
from django.core import signing
from django.core.exceptions import ObjectDoesNotExist, PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.utils.functional import cached_property
from django.views import View

from config.console.base import SectionAdmin, request_user
from config.console.reauthentication import password_needed
from config.request.context import actor


class Refused(Exception):
    """It cannot be done; its text, which may be HTML, says why on the page before."""


class ObjectPage(View):
    """A page of a section."""

    section: SectionAdmin = None  # type: ignore[assignment] # `as_view` has it
    obj: Any = None  # that the URL names, if it names one
    template_name = ""
    asks_password = False  # again after a while

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if "object_id" in kwargs:
            self.obj = self.section.visible_or_404(request, kwargs["object_id"])
        if not self.is_allowed():
            raise PermissionDenied
        try:
            self.check()  # nobody enters a password for what cannot be done
            if self.asks_password and (needed := password_needed(request)):
                return needed
            return super().dispatch(request)  # type: ignore[return-value]
        except Refused as exc:
            messages.warning(request, exc.args[0])
            return HttpResponseRedirect(self.back)

    def is_allowed(self) -> bool:
        return self.obj is not None or self.section.has_add_permission(self.request)

    def check(self) -> None:
        """Raises `Refused` if the page makes no sense for the object at present."""

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.render_page(self.template_name, **self.context())

    def context(self) -> dict[str, Any]:
        """What the template shows; of a page without a form, the title too."""
        return {}

    def render_page(self, template: str, **context: Any) -> HttpResponse:
        context = {"crumbs": self.crumbs(), "back": self.back, **context}
        return render(self.request, template, {**site.each_context(self.request), **context})

    def crumbs(self) -> list[tuple[str, str]]:
        """The list, and on other pages the object's own."""
        if self.obj is None or type(self) is self.section.pages.get("change"):
            return [self.section.crumb()]
        return [self.section.crumb(), (str(self.obj), self.section.url_of(self.obj))]

    @property
    def user(self) -> User:
        return request_user(self.request)

    @property
    def login(self) -> str:
        return self.user.get_username()

    @property
    def back(self) -> str:
        return self.section.list_url() if self.obj is None else self.section.url_of(self.obj)


class Prompt(NamedTuple):
    """What a page says before it does something."""

    title: str
    button: str
    sentences: Iterable[str] = ()
    warnings: Iterable[str] = ()
    danger: bool = False  # it cannot be undone easily
    workspace: Any = None  # that the form is of
    hidden: Iterable[tuple[str, Any]] = ()  # fields


class ActionPage(ObjectPage):
    """Asks, and does it when the form is sent. A subclass has `prompt` and `run`."""

    template_name = "admin/action.html"
    asks_password = True
    form_class: type[forms.BaseForm] = forms.Form

    def prompt(self) -> Prompt:
        raise NotImplementedError

    def run(self) -> str | HttpResponse | None:
        """Does it, and returns a message for the page before, or the whole response.

        The form is valid. A ValidationError is shown beside it, and `Refused` as a message.
        """
        raise NotImplementedError

    def form_arguments(self) -> dict[str, Any]:
        return {}

    @cached_property
    def form(self) -> Any:
        data = self.request.POST if self.request.method == "POST" else None
        return self.form_class(data, **self.form_arguments())

    def get(self, request: HttpRequest) -> HttpResponse:
        return self.ask(self.prompt())

    def post(self, request: HttpRequest) -> HttpResponse:
        if not self.form.is_valid():
            return self.get(request)
        try:
            done = self.run()
        except forms.ValidationError as exc:
            self.form.add_error(None, exc)
            return self.get(request)
        except ObjectDoesNotExist as exc:  # it was deleted meanwhile
            raise Http404 from exc
        if isinstance(done, HttpResponse):
            return done
        if done:
            messages.success(request, done)
        return HttpResponseRedirect(self.next_url)

    @property
    def next_url(self) -> str:
        return self.back

    def ask(self, prompt: Prompt) -> HttpResponse:
        context = {"title": prompt.title, "prompt": prompt, "form": self.form, "view": self}
        return self.render_page(self.template_name, **context, **self.context())


class Button(ActionPage):
    asks_password = False

    def get(self, request: HttpRequest) -> HttpResponse:
        for errors in self.form.errors.values():
            messages.warning(request, " ".join(errors))
        return HttpResponseRedirect(self.back)


class OnceForm(forms.Form):
    """Creates something at most once: it contains the new object's id, signed for its user.

    A form that is sent again (reload, back button, double click) has an id that exists.
    """

    new_id = forms.CharField(
        widget=forms.HiddenInput,
        initial=lambda: signing.dumps(str(uuid.uuid4()), salt=f"new {actor()}"),
    )

    def clean_new_id(self) -> uuid.UUID:
        try:
            return uuid.UUID(signing.loads(self.cleaned_data["new_id"], salt=f"new {actor()}"))
        except signing.BadSignature:
            raise forms.ValidationError("Please open this form again.") from None
