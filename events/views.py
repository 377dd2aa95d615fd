from rest_framework.request import Request
from rest_framework.response import Response

from config.api.cursors import decode_cursor, encode_cursor
from config.api.parameters import limit, one_of, single
from config.api.responses import conditional, link_to_next
from config.api.viewsets import ApiViewSet
from events import feed
from events.feed import FeedPosition
from events.models import EventType
from events.serializers import EventPage

TYPES = tuple(EventType.values)


class EventViewSet(ApiViewSet):
    def list(self, request: Request) -> Response:
        workspace_id = self.key.workspace_id
        purpose = f"events:{workspace_id}"
        after = single(request.query_params, "after", feed.EXPECTED)
        type = one_of(request.query_params, "type", TYPES)
        size = limit(request.query_params)
        if after == feed.NOW:
            page = feed.end_of_feed(workspace_id)
        else:
            position = None
            if after:
                position = decode_cursor(after, FeedPosition, purpose, "after", feed.EXPECTED)
            page = feed.page(workspace_id, (type,) if type else TYPES, position, size)
        next_cursor = encode_cursor(page.next, purpose)
        following = {"after": next_cursor, "type": type, "limit": size}
        headers = link_to_next(request.path, **following) if page.more else {}
        return conditional(request, Response(EventPage(page.events, next_cursor), headers=headers))
