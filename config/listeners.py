"""Functions of apps that are called with each request once its response is ready.

They are registered here, since `config` imports no app.
"""

import logging
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest

logger = logging.getLogger(__name__)

Facts = Mapping[str, Any]
Listener = Callable[[HttpRequest, Facts, Facts], None]

_listeners: list[Listener] = []


def register(listener: Listener) -> None:
    """Adds a listener.

    Args:
        listener: is called in the request's thread, so it must be quick and must not wait. It gets
            the request, the fields of the access log's line, and the facts that no log may have
            (`config.request_context.remember`).
    """
    _listeners.append(listener)


def call(request: HttpRequest, fields: Facts, facts: Facts) -> None:
    """Calls all listeners; what they raise is logged and fails no request."""
    for listener in _listeners:
        try:
            listener(request, fields, facts)
        except Exception:
            logger.exception("%s failed", listener)
