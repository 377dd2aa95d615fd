from functools import partial
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.views import View

from audit.scope import scope_of
from audit.sending import send
from config.console.links import LOG, filtered, parsed
from config.console.reauthentication import password_needed
from documents.evidence import EvidenceRefused, export
from documents.evidence.facts import Trail

MOST = 50_000  # entries, in some 70 MB; the command has no limit


class EvidenceFile(View):
    """The evidence file, for users who see the document's entries in the audit log.

    The document's own row need not exist any more. What prevents the file is a message above the
    document's entries.
    """

    http_method_names = ["get"]
    section: Any = None

    def get(self, request: HttpRequest, object_id: str) -> HttpResponseBase:
        if not self.section.has_view_permission(request):
            raise PermissionDenied
        document_id = parsed(object_id)
        if document_id is None or not (trail := Trail(document_id, scope_of(request))).exists():
            raise Http404
        if needed := password_needed(request):
            return needed
        make, name = partial(export, trail, most=MOST), f"evidence-{trail.document_id}.json"
        try:
            return send(request, make, name=name, content_type="application/json")
        except EvidenceRefused as exc:
            messages.error(request, f"No evidence file was made. {exc}")
            return HttpResponseRedirect(filtered(LOG, document_id__exact=document_id))
