"""Links between pages, by the names of their URLs."""

from typing import Any
from uuid import UUID

from django.urls import reverse
from django.utils.html import format_html

from config.console.formatting import isolated

LOG = "admin:audit_auditentry_changelist"
REFUSED = "admin:usage_refusedrequest_changelist"
DELIVERIES = "admin:webhooks_delivery_changelist"
KEY = "admin:apikeys_apikey_change"
DOCUMENT = "admin:documents_document_change"
DOCUMENTS = "admin:documents_document_changelist"
ENDPOINT = "admin:webhooks_endpoint_change"
WORKSPACE = "admin:workspaces_workspace_change"


def filtered(name: str, **filters: Any) -> str:
    """The URL of a list, with these filters: `filtered(LOG, key_id__exact=…)`."""
    return reverse(name, query=filters)


def page_link(name: str, text: Any, id: Any) -> str:
    """HTML: the text, as a link to the page of the object with this id, if there is an id."""
    if not id:
        return isolated(text)
    return format_html('<a href="{}">{}</a>', reverse(name, args=[id]), isolated(text or id))


def list_link(name: str, text: Any, **filters: Any) -> str:
    """HTML: the text, if there is any, as a link to a list with one filter, if that has a value."""
    if not text or not all(filters.values()):
        return isolated(text)
    return format_html('<a href="{}">{}</a>', filtered(name, **filters), isolated(text))


def key_link(row: Any, name: str, *, own: bool) -> str:
    """HTML: the key that a row names: a link to its page if the reader sees it, or to its rows."""
    if not row.key_prefix:
        return ""
    text = format_html("<code>{}…</code> {}", row.key_prefix, isolated(row.key_name))
    if own and row.key_id:
        return page_link(KEY, text, row.key_id)
    return list_link(name, text, key_id__exact=row.key_id)


def parsed(text: str) -> UUID | None:
    """The id that a text is; None if it is anything else."""
    try:
        return UUID(text)
    except ValueError:
        return None
