"""The pages of an export: what it would contain, and the file."""

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)
from django.urls import reverse

from audit import bars, export
from audit.export_limits import RUNNING, Sending, TooManyExports, file_response
from audit.filters import AuditLogFilter
from audit.links import log_url
from audit.models import Action
from audit.record import record
from audit.search import without_raw_key
from config.admin.base import request_user
from config.admin.changelist import ReadOnlyAdmin
from config.admin.reauthentication import recent_sign_in_required

MOST_COUNTED = 100_000  # entries that are counted before an export


class ExportViews(ReadOnlyAdmin):
    """The views; the admin of the audit log has their URLs."""

    def get_filter_form(self, request: HttpRequest) -> AuditLogFilter:
        raise NotImplementedError

    def before_export_view(self, request: HttpRequest) -> HttpResponse:
        """What an export would contain, and how many entries these are."""
        form = self._form_of_export(request)
        if not isinstance(form, AuditLogFilter):
            return form
        try:
            entries = self.get_filtered(request, form)
            number = bars.count(entries, form.alternatives(), MOST_COUNTED)
            size = f"more than {MOST_COUNTED:,}" if number > MOST_COUNTED else f"{number:,}"
        except bars.TooMany:
            size = "too many to count in a moment"
        query = f"?{request.GET.urlencode()}"
        return self.page(
            request,
            "admin/audit/auditentry/export.html",
            title="Export as CSV",
            size=size,
            filters=form.text(),
            file_name=export.file_name(form),
            export_url=reverse("admin:audit_auditentry_export") + query,
            back_url=log_url() + query,
        )

    def export_view(self, request: HttpRequest) -> HttpResponseBase:
        """The filtered entries as CSV; a redirect to the list if a filter is not valid."""
        form = self._form_of_export(request)
        if not isinstance(form, AuditLogFilter):
            return form
        person = request_user(request).get_username()
        found = export.batches(
            self.get_filtered(request, form), form.alternatives(), self.get_queryset(request)
        )
        try:
            with RUNNING.begin(person):
                # Committed before the first byte.
                started = record(
                    Action.LOG_EXPORTED,
                    by=person,
                    workspace=form.only_workspace(),
                    detail=form.text(),
                )
                sending = Sending(export.lines(found), started)
        except TooManyExports as exc:
            messages.warning(request, exc.text)
            return HttpResponseRedirect(f"{log_url()}?{request.GET.urlencode()}")
        return file_response(sending, export.file_name(form), "text/csv; charset=utf-8")

    def _form_of_export(self, request: HttpRequest) -> AuditLogFilter | HttpResponse:
        """The valid filters of an export, or the response without them.

        Raises:
            PermissionDenied: the user may not see the log.
            PasswordNeeded: the password must be entered again.
        """
        if not self.has_view_permission(request):
            raise PermissionDenied
        if request.method != "GET":
            return HttpResponseNotAllowed(["GET"])
        if redirect := redirect_without_key(request):
            return redirect
        recent_sign_in_required(request)
        form = self.get_filter_form(request)
        if form.is_valid():
            return form
        return HttpResponseRedirect(f"{log_url()}?{request.GET.urlencode()}")


def redirect_without_key(request: HttpRequest) -> HttpResponseRedirect | None:
    """A redirect that removes a raw key from the search, if there is one.

    The browser's history keeps the target of a redirect, not the URL that was redirected.
    """
    text = request.GET.get("q", "")
    kept = without_raw_key(text)
    if kept == text:
        return None
    query = request.GET.copy()
    query["q"] = kept
    return HttpResponseRedirect(f"{request.path}?{query.urlencode()}")
