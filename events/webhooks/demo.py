"""The endpoint of the demo: `make run` starts a receiver there."""

from urllib.parse import urlsplit
from uuid import NAMESPACE_DNS, uuid5

from cryptography.fernet import InvalidToken
from django.contrib.auth.models import User

from config.ports import free_port, usable_port
from events.models import EventType
from events.webhooks import secrets, services
from events.webhooks.models import Endpoint
from workspaces.models import Workspace

HOST = "127.0.0.1"
ID = uuid5(NAMESPACE_DNS, "receiver.acme.example")


def receiver(workspace: Workspace, by: User) -> tuple[int, str] | None:
    """The port and the raw secret of the workspace's endpoint on this machine.

    The first call creates the endpoint, and a later one moves it if its port is taken. None if a
    user has deleted it or changed its address, or if SECRET_KEY is another one than before.
    """
    endpoint = Endpoint.objects.filter(pk=ID).first()
    if endpoint is None:
        types = EventType.values
        url = _url(free_port(HOST))
        endpoint, _ = services.create(workspace=workspace, url=url, types=types, by=by, new_id=ID)
    port = urlsplit(endpoint.url).port
    if endpoint.deleted_at or port is None or endpoint.url != _url(port):
        return None
    try:
        raw = secrets.decrypt(endpoint.secret)
    except InvalidToken:
        return None
    try:
        usable_port(HOST, str(port))
    except ValueError:
        port = free_port(HOST)
        services.change(endpoint, url=_url(port), label=endpoint.label, types=endpoint.types, by=by)
    return port, raw


def _url(port: int) -> str:
    return f"http://{HOST}:{port}/"
