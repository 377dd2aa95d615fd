"""Who asks, whether they may, and how often."""

import hashlib
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.utils import timezone
from django_ratelimit.core import is_ratelimited
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import APIException, AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from apikeys.models import ApiKey


class PaymentRequired(APIException):
    status_code = 402
    default_detail = "The plan does not include the API."


class KeyAuthentication(BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiKey]:
        scheme, _, raw = get_authorization_header(request).partition(b" ")
        if scheme.lower() != b"bearer" or not raw.startswith(b"dtd_"):
            raise AuthenticationFailed
        try:
            key = ApiKey.objects.select_related("workspace").get(
                digest=hashlib.sha256(raw).hexdigest(), revoked_at=None
            )
        except ApiKey.DoesNotExist:
            raise AuthenticationFailed from None
        now = timezone.now()
        due = now - timedelta(minutes=1)
        if key.last_used_at is None or key.last_used_at <= due:
            never_or_due = Q(last_used_at=None) | Q(last_used_at__lte=due)
            ApiKey.objects.filter(never_or_due, pk=key.pk).update(last_used_at=now)
        return AnonymousUser(), key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class WorkspaceStanding(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        key: Any = request.auth
        if key.workspace.suspended:
            raise PermissionDenied
        if key.workspace.plan not in ("PRO", "BUSINESS"):
            raise PaymentRequired
        return True


class KeyThrottle(BaseThrottle):
    def allow_request(self, request: Request, view: Any) -> bool:
        limited: bool = is_ratelimited(
            request,
            group="api",
            key=lambda group, request: str(request.auth.pk),
            rate="300/m",
            increment=True,
        )
        return not limited

    def wait(self) -> float:
        return 60
