"""What all sections of the admin have in common, and each says of itself."""

from typing import TYPE_CHECKING, Any, cast
from urllib.parse import urlencode

from django.contrib import admin, messages
from django.contrib.admin.exceptions import DisallowedModelAdminLookup, DisallowedModelAdminToField
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import ERROR_FLAG, ChangeList
from django.core.exceptions import BadRequest, PermissionDenied, ValidationError
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.text import capfirst

if TYPE_CHECKING:
    from django.contrib.auth.models import User

    ModelAdmin = admin.ModelAdmin[Any]
    TabularInline = admin.TabularInline[Any, Any]
else:  # generic only in the stubs
    ModelAdmin = admin.ModelAdmin
    TabularInline = admin.TabularInline


class StrictFilterAdmin(ModelAdmin):
    """A list that is narrowed by its own filters only.

    An address that asks for anything else, `?digest__startswith=…` or a page that there is not,
    leads to the list as it is, which says so.
    """

    show_facets = admin.ShowFacets.NEVER

    def lookup_allowed(self, lookup: str, value: str, request: HttpRequest) -> bool:
        filters = self.get_list_filter(request)
        return lookup in {getattr(each, "parameter_name", f"{each}__exact") for each in filters}

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        try:
            return super().get_changelist_instance(request)
        except IncorrectLookupParameters as exc:
            raise DisallowedModelAdminLookup from exc

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        try:
            return super().changelist_view(request, extra_context)
        except (DisallowedModelAdminLookup, DisallowedModelAdminToField):
            messages.warning(
                request,
                "The address asked for something that this list does not know: here is all of it.",
            )
            return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")


class AuditedAdmin(StrictFilterAdmin):
    """A model whose history is the audit history: Django's own log of the admin has no part in it.

    Nothing may be done unless a subclass allows it.

    Attributes:
        audit_lookup: the field of an audit entry that holds the id of an object of this model.
        description: what the start page says of it.
    """

    audit_lookup = ""
    description = ""

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def warnings(self, request: HttpRequest) -> list[str]:
        """What the person has to know before all that a list shows."""
        return []

    def heading(self, obj: Any) -> str:
        """What an object's page is headed by."""
        return str(obj)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        context = {
            "title": capfirst(self.opts.verbose_name_plural),
            "warnings": self.warnings(request),
        }
        return super().changelist_view(request, context | (extra_context or {}))

    def change_view(
        self,
        request: HttpRequest,
        object_id: str,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        obj = self.visible_or_404(request, object_id)
        context = {
            "title": self.heading(obj),
            "subtitle": None,
            "audit_url": self.audit_url(obj),
            "show_save_and_add_another": False,
        }
        return super().change_view(request, object_id, form_url, context | (extra_context or {}))

    def response_action(
        self, request: HttpRequest, queryset: QuerySet[Any], *args: Any, **kwargs: Any
    ) -> HttpResponse | None:
        """What an action answers; a chosen id that is none is a 400, where Django crashes."""
        try:
            return super().response_action(request, queryset, *args, **kwargs)
        except (ValidationError, ValueError) as exc:
            raise BadRequest from exc

    def audit_url(self, obj: Model) -> str:
        """The audit history, narrowed to this object."""
        query = urlencode({f"{self.audit_lookup}__exact": obj.pk})
        return f"{reverse('admin:audit_auditentry_changelist')}?{query}"

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The "History" button: an object that the person cannot see has none."""
        return HttpResponseRedirect(self.audit_url(self.visible_or_404(request, object_id)))

    def visible_or_404(self, request: HttpRequest, object_id: str) -> Any:
        """The object, when this person may see it.

        Raises:
            PermissionDenied: the person sees no such objects at all.
            Http404: there is none with this id among those they see.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        obj = self.get_object(request, object_id)
        if obj is None:
            raise Http404
        return obj

    def log_addition(self, *args: Any) -> None:  # type: ignore[override]
        """Left to the audit history."""

    def log_change(self, *args: Any) -> None:  # type: ignore[override]
        """Left to the audit history."""

    def log_deletions(self, *args: Any) -> None:  # type: ignore[override]
        """Left to the audit history."""

    def page(
        self, request: HttpRequest, template: str, *, title: str, **context: Any
    ) -> TemplateResponse:
        """A page of our own, with what each page of the admin needs."""
        request.current_app = self.admin_site.name
        return TemplateResponse(
            request,
            template,
            {
                **self.admin_site.each_context(request),
                "opts": self.opts,
                "media": self.media,
                "title": title,
                **context,
            },
        )


def request_user(request: HttpRequest) -> "User":
    """Who is signed in; every page of the admin but the form to sign in has someone."""
    return cast("User", request.user)
