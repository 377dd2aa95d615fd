from collections.abc import Iterator, Sequence
from functools import wraps
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.template.loader import render_to_string
from django.urls import URLPattern, URLResolver, path, reverse
from django.utils.decorators import method_decorator
from django.utils.safestring import SafeString

from audit.scope import has_right, remember, scope_of
from config.console.base import ADMINS, request_user
from config.console.links import parsed
from config.console.site import ConsoleSite
from workspaces import mails
from workspaces.accounts import second_factor
from workspaces.accounts import second_factor_views as factor
from workspaces.accounts.passwords import Change, FirstPassword, Reset, ResetConfirm
from workspaces.accounts.security import mailbox, security
from workspaces.accounts.sign_in import ConfirmPassword, EnterCode, SignIn
from workspaces.accounts.throttle import takes_password
from workspaces.models import Membership


class Site(ConsoleSite):
    def get_urls(self) -> list[URLPattern | URLResolver]:
        def signed_in(page: Any) -> Any:
            return self.admin_view(page.as_view())

        # `config.request.redaction` and deploy/nginx.conf keep the tokens out of the logs. No
        # `uidb64` begins with "first-": it encodes a number.
        return [
            path("login/code/", EnterCode.as_view(), name="login_code"),
            path("login/set-up/", factor.SetUpAtSignIn.as_view(), name="login_set_up"),
            path("reset/", Reset.as_view(), name="password_reset"),
            path("reset/first-<uidb64>/<token>/", FirstPassword.as_view(), name="first_password"),
            path("reset/<uidb64>/<token>/", ResetConfirm.as_view(), name="password_reset_confirm"),
            path("confirm-password/", signed_in(ConfirmPassword), name="confirm_password"),
            path("password_change/", signed_in(Change), name="password_change"),
            path("security/app/", signed_in(factor.OwnSetUp), name="security_app"),
            path("security/codes/", signed_in(factor.NewCodes), name="security_codes"),
            path("security/remove/", signed_in(factor.RemoveOwn), name="security_remove"),
            path("security/", self.admin_view(security), name="security"),
            path("mailbox/", mailbox, name="mailbox"),
            *super().get_urls(),
        ]

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """The workspace of a page is looked at from then on."""
        of_admin = super().admin_view(view, cacheable)

        @wraps(of_admin)
        def remembered(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            return remember(request, of_admin(request, *args, **kwargs))

        return remembered

    def in_turn(self, request: HttpRequest) -> Iterator[None]:
        """For a search: an admin looks at the present workspace, then at five others in turn."""
        scope = scope_of(request)
        present = scope.workspace
        try:
            yield
            if present and not scope.everything:
                for other in scope.own.exclude(pk=present.pk).order_by("name", "id")[:5]:
                    scope.workspace = other
                    yield
                scope.workspace = present
        finally:
            if scope.workspace != present:
                context = {"looked_at": scope.workspace, "came_from": present}
                text = render_to_string("admin/looked_at.html", context)
                messages.warning(request, SafeString(text))

    def has_permission(self, request: HttpRequest) -> bool:
        return super().has_permission(request) and second_factor.is_satisfied(request.user)

    def may_see(self, request: HttpRequest, seen_by: Sequence[str]) -> bool:
        user = request_user(request)
        return any(
            scope_of(request).workspace is not None if who == ADMINS else has_right(user, who)
            for who in seen_by
        )

    def each_context(self, request: HttpRequest) -> dict[str, Any]:
        """With the workspace that is looked at, for admins of several."""
        context = super().each_context(request)
        context |= {"support_email": settings.SUPPORT_EMAIL, "mail_available": mails.available()}
        context["upgrade_url"] = settings.UPGRADE_URL
        if context["has_permission"]:
            scope = scope_of(request)
            context["looked_at"] = found = scope.workspace if len(scope.own[:2]) > 1 else None
            if found and scope.own.filter(name=found.name).exclude(pk=found.pk).exists():
                context["looked_at_as"] = found.label
            if found and scope.last != str(found.pk):
                context["came_from"] = scope.own.filter(pk=parsed(scope.last)).first()
            response = remember(request, HttpResponse())  # for the cookie that `console.js` sets
            context["cookie"] = response.cookies.output(header="")
        return context

    def index(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """The start page: of the workspace that is looked at, or of all.

        A member who may see nothing is told whom to ask.
        """
        admins = Membership.objects.admins().select_related("workspace", "user")
        own = admins.filter(workspace__memberships__user=request_user(request))
        scope, context = scope_of(request), {"admins": own}
        if scope.workspace and not scope.everything:
            context["title"] = scope.workspace.name
        return super().index(request, context)

    def needs_a_look(self, request: HttpRequest) -> Any:
        """For admins, besides the one that is looked at: the page says what is wrong there."""
        scope, looks = scope_of(request), super().needs_a_look(request)
        if scope.workspace and not scope.everything:
            looks.pop(scope.workspace.pk, None)
        return looks

    @method_decorator(takes_password)
    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """The sign-in form. A session without admin access is flushed."""
        if SESSION_KEY in request.session and not self.has_permission(request):
            request.session.flush()
            return HttpResponseRedirect(request.get_full_path())
        if request.method == "GET" and self.has_permission(request):
            return HttpResponseRedirect(reverse("admin:index"))
        return SignIn.as_view()(request)
