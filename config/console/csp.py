from django.http import HttpRequest, HttpResponse
from django.utils.deprecation import MiddlewareMixin

# Scripts and styles are files of ours. Other hosts may not serve, receive or frame anything.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


class ContentSecurityPolicy(MiddlewareMixin):
    """Each page has this policy, unless its view has set another."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        if response.get("Content-Type", "").startswith("text/html"):
            response.headers.setdefault("Content-Security-Policy", CONTENT_SECURITY_POLICY)
        return response
