"""Deactivating an account, and activating it again."""

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, path, reverse

from config.admin.base import SectionAdmin, request_user
from config.admin.reauthentication import recent_sign_in_required
from workspaces import changes
from workspaces.accounts.rights import kinds_of
from workspaces.admin.access import CONFIRM


class ClosingPages(SectionAdmin):
    """The pages, each with a confirmation."""

    def get_urls(self) -> list[URLPattern]:
        pages = {"activate": self.activate_view, "deactivate": self.deactivate_view}
        return [
            path(f"<id>/{name}/", self.admin_site.admin_view(view), name=f"auth_user_{name}")
            for name, view in pages.items()
        ] + super().get_urls()

    def deactivate_view(self, request: HttpRequest, id: str) -> HttpResponse:
        account: User = self.visible_or_404(request, id)
        recent_sign_in_required(request)
        if account == request_user(request):
            messages.error(request, "You cannot deactivate your own account: ask another operator.")
            return HttpResponseRedirect(account_url(account))
        orphans = changes.solely_administered_by(account)
        if "deactivate" in request.POST:
            try:
                changes.deactivate(account, even_last_admin="last_admin" in request.POST)
            except changes.LastAdmin:
                pass  # since the page was shown; it is shown again, with the warning
            else:
                messages.success(request, f"{account} cannot sign in any more.")
                return HttpResponseRedirect(account_url(account))
        return self.page(
            request,
            CONFIRM,
            title=f"Deactivate {account}?",
            sentences=[
                "The user is signed out by the next click, and cannot sign in any more. "
                "Memberships stay, and the account can be activated again.",
                "Keys that the user has created keep working: revoke those whose text the user "
                "may have kept.",
                *(
                    f"{each.label} has no other admin who can sign in: nobody could create or "
                    "revoke its keys. Better first invite another admin."
                    for each in orphans
                ),
            ],
            hidden={"deactivate": "yes", **({"last_admin": "yes"} if orphans else {})},
            button=f"Deactivate {account}",
            danger=True,
            **self.place(account),
        )

    def activate_view(self, request: HttpRequest, id: str) -> HttpResponse:
        account: User = self.visible_or_404(request, id)
        recent_sign_in_required(request)
        if "activate" in request.POST:
            account.is_active = account.is_staff = True
            account.save(update_fields=["is_active", "is_staff"])
            messages.success(request, f"{account} can sign in again.")
            return HttpResponseRedirect(account_url(account))
        return self.page(
            request,
            CONFIRM,
            title=f"Activate {account}?",
            sentences=[f"The user can sign in again, as: {kinds_of(account)}."],
            hidden={"activate": "yes"},
            button=f"Activate {account}",
            **self.place(account),
        )

    def place(self, account: User | None = None) -> dict[str, Any]:
        """Where the page is: its breadcrumbs, and the way back."""
        crumbs, back = [self.crumb()], self.crumb()[1]
        if account is not None:
            back = account_url(account)
            crumbs.append((account.get_username(), back))
        return {"crumbs": crumbs, "back": back}


def account_url(account: User) -> str:
    return reverse("admin:auth_user_change", args=[account.pk])
