"""GET /admin/documents/document/<id>/evidence/"""

from uuid import UUID

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_GET

from audit.admin.links import filtered_log_url
from audit.admin.sending import RUNNING, Sending, TooManyExports, file_response
from audit.scope import scope_of
from config.console.base import request_user
from config.console.reauthentication import recent_sign_in_required
from documents.evidence import EvidenceRefused, Trail, export

MOST = 50_000  # entries, in some 70 MB; the command has no limit


@require_GET
def evidence_file(request: HttpRequest, object_id: str) -> HttpResponseBase:
    """The evidence file, for users who see the document's entries in the audit log.

    The document's own row need not exist any more. What prevents the file is a message above the
    document's entries.
    """
    scope = scope_of(request)
    if not scope:
        raise PermissionDenied
    try:
        trail = Trail(UUID(object_id), scope)
    except ValueError as exc:
        raise Http404 from exc
    if not trail.exists():
        raise Http404
    recent_sign_in_required(request)
    try:
        with RUNNING.begin(request_user(request).get_username()):
            started, parts = export(trail, most=MOST)
            sending = Sending(parts, started)
    except TooManyExports as exc:
        messages.warning(request, exc.text)
    except EvidenceRefused as exc:
        messages.error(request, f"No evidence file was made. {exc}")
    else:
        return file_response(sending, f"evidence-{trail.document_id}.json", "application/json")
    return HttpResponseRedirect(filtered_log_url(document_id__exact=trail.document_id))
