"""The admin site with our pages of signing in."""

from typing import Any

from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, URLResolver, reverse

from config.console import site
from config.console.site import with_csp
from config.runtime import slots
from workspaces.accounts import passwords, second_factor
from workspaces.accounts.sign_in import sign_in
from workspaces.accounts.urls import urls


class Site(site.Site):
    """Signing in with limits, a second factor and a record of each attempt."""

    def get_urls(self) -> list[URLPattern | URLResolver]:
        return [*urls(public=with_csp, signed_in=self.admin_view), *super().get_urls()]

    def has_permission(self, request: HttpRequest) -> bool:
        """Whether the user may see the site: active staff, with a second factor if it is needed."""
        user = request.user
        may = super().has_permission(request) and second_factor.is_satisfied(user)
        session = request.COOKIES.get(settings.SESSION_COOKIE_NAME, "")
        slots.TENANTS.set(session, slots.SignedIn(user.pk) if may and user.pk else None)
        return may

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """The sign-in form. A session without admin access is flushed."""
        if SESSION_KEY in request.session and not self.has_permission(request):
            request.session.flush()
            return HttpResponseRedirect(request.get_full_path())
        if request.method == "GET" and self.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return with_csp(sign_in)(request)

    def password_change(  # type: ignore[override] # it need not be a template's
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Django's page, throttled and recorded."""
        return passwords.change(request)
