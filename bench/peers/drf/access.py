"""Authentication by key, API access of its workspace, and the rate limit."""

import hashlib
from datetime import timedelta
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Q
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication, get_authorization_header
from rest_framework.exceptions import APIException, AuthenticationFailed, PermissionDenied
from rest_framework.permissions import BasePermission
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from apikeys.models import ApiKey
from bench.peers import PLANS, REQUESTS_PER_MINUTE


class PaymentRequired(APIException):
    status_code = 402


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


class ApiAccess(BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        key: Any = request.auth
        if key.workspace.suspended:
            raise PermissionDenied
        if key.workspace.plan not in PLANS:
            raise PaymentRequired
        return True


class KeyThrottle(SimpleRateThrottle):
    rate = f"{REQUESTS_PER_MINUTE}/min"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"rate:{request.auth.pk}"
