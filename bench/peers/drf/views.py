"""Access by key, serializers, viewsets with DRF's own cursor pagination, and the URLs."""

# ruff: noqa: I001, N815 - the API's names

import hashlib
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

from django.contrib.auth.models import AnonymousUser
from django.db.models import Prefetch, Q, QuerySet, Sum
from django.urls import include, path
from django.utils import timezone
from rest_framework import authentication, exceptions, pagination, permissions
from rest_framework import routers, serializers, throttling, views, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apikeys.models import ApiKey
from bench.peers import DONE, PLANS, REQUESTS_PER_MINUTE, SIGNING_ROLES
from documents.models import Document, Recipient
from workspaces.models import DocumentCount


class KeyAuthentication(authentication.BaseAuthentication):
    def authenticate(self, request: Request) -> tuple[AnonymousUser, ApiKey]:
        scheme, _, raw = authentication.get_authorization_header(request).partition(b" ")
        if scheme.lower() != b"bearer" or not raw.startswith(b"dtd_"):
            raise exceptions.AuthenticationFailed
        try:
            key = ApiKey.objects.select_related("workspace").get(
                digest=hashlib.sha256(raw).hexdigest(), revoked_at=None
            )
        except ApiKey.DoesNotExist:
            raise exceptions.AuthenticationFailed from None
        now = timezone.now()
        due = now - timedelta(minutes=1)
        if key.last_used_at is None or key.last_used_at <= due:
            never_or_due = Q(last_used_at=None) | Q(last_used_at__lte=due)
            ApiKey.objects.filter(never_or_due, pk=key.pk).update(last_used_at=now)
        return AnonymousUser(), key

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class ApiAccess(permissions.BasePermission):
    def has_permission(self, request: Request, view: Any) -> bool:
        key: Any = request.auth
        return not key.workspace.suspended and key.workspace.plan in PLANS


class KeyThrottle(throttling.SimpleRateThrottle):
    rate = f"{REQUESTS_PER_MINUTE}/min"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"rate:{request.auth.pk}"


class ByKey(views.APIView):
    authentication_classes = (KeyAuthentication,)
    permission_classes = (ApiAccess,)
    throttle_classes = (KeyThrottle,)


class RecipientSerializer(serializers.Serializer[Recipient]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    email = serializers.CharField()
    role = serializers.CharField()
    status = serializers.CharField()
    order = serializers.IntegerField()
    sentAt = serializers.DateTimeField(source="sent_at")
    viewedAt = serializers.DateTimeField(source="viewed_at")
    completedAt = serializers.DateTimeField(source="completed_at")
    declinedAt = serializers.DateTimeField(source="declined_at")
    declineReason = serializers.CharField(source="decline_reason")


class DocumentSerializer(serializers.Serializer[Document]):
    id = serializers.UUIDField()
    title = serializers.CharField()
    status = serializers.CharField()
    fileName = serializers.CharField(source="file_name")
    pageCount = serializers.IntegerField(source="page_count")
    fileSize = serializers.IntegerField(source="file_size")
    signingOrder = serializers.CharField(source="signing_order")
    createdAt = serializers.DateTimeField(source="created_at")
    sentAt = serializers.DateTimeField(source="sent_at")
    completedAt = serializers.DateTimeField(source="completed_at")
    expiresAt = serializers.DateTimeField(source="expires_at")
    progress = serializers.SerializerMethodField()
    recipients = RecipientSerializer(many=True)
    links = serializers.SerializerMethodField()

    def get_progress(self, document: Document) -> dict[str, int]:
        signing = [r for r in document.recipients.all() if r.role in SIGNING_ROLES]
        return {"done": sum(r.status in DONE for r in signing), "total": len(signing)}

    def get_links(self, document: Document) -> dict[str, str]:
        path = f"/api/v1/documents/{document.pk}"
        return {"self": path, "download": f"{path}/download"}


class DocumentPagination(pagination.CursorPagination):
    ordering = ("-created_at", "-id")
    page_size = 25
    page_size_query_param = "limit"
    max_page_size = 100

    def get_paginated_response(self, data: Any) -> Response:
        link = self.get_next_link()
        cursor = parse_qs(urlsplit(link).query)["cursor"][0] if link else None
        return Response({"data": data, "nextCursor": cursor})


class DocumentViewSet(ByKey, viewsets.ReadOnlyModelViewSet[Document]):
    serializer_class = DocumentSerializer
    pagination_class = DocumentPagination

    def get_queryset(self) -> QuerySet[Document]:
        key: Any = self.request.auth
        recipients = Prefetch("recipients", Recipient.objects.order_by("order", "id"))
        documents = Document.objects.filter(workspace=key.workspace, deleted_at=None)
        return documents.prefetch_related(recipients)

    def retrieve(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        return Response({"data": self.get_serializer(self.get_object()).data})


class MeView(ByKey):
    def get(self, request: Request) -> Response:
        key: Any = request.auth
        counts = dict.fromkeys(("draft", "sent", "completed"), 0)
        statuses = [status.upper() for status in counts]
        rows = DocumentCount.objects.filter(workspace_id=key.workspace_id, status__in=statuses)
        for status, count in rows.values_list("status").annotate(Sum("count")):
            counts[status.lower()] = count
        data = {
            "workspace": {"id": key.workspace.pk, "name": key.workspace.name},
            "key": {"id": key.pk, "name": key.name},
            "documents": counts,
        }
        return Response({"data": data})


router = routers.SimpleRouter(trailing_slash=False)
router.register("documents", DocumentViewSet, basename="document")
urlpatterns = [path("api/v1/me", MeView.as_view()), path("api/v1/", include(router.urls))]
