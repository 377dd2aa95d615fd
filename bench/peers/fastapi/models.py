"""The responses, as pydantic models."""

from datetime import datetime
from typing import Generic, TypeVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

T = TypeVar("T", bound="ApiModel")


class ApiModel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class Recipient(ApiModel):
    id: UUID
    name: str
    email: str
    role: str
    status: str
    order: int
    sent_at: datetime | None
    viewed_at: datetime | None
    completed_at: datetime | None
    declined_at: datetime | None
    decline_reason: str | None


class Progress(ApiModel):
    done: int
    total: int


class Links(ApiModel):
    self: str
    download: str


class Document(ApiModel):
    id: UUID
    title: str
    status: str
    file_name: str
    page_count: int
    file_size: int
    signing_order: str
    created_at: datetime
    sent_at: datetime | None
    completed_at: datetime | None
    expires_at: datetime | None
    progress: Progress
    recipients: list[Recipient]
    links: Links


class DocumentList(ApiModel):
    data: list[Document]
    next_cursor: str | None


class Named(ApiModel):
    id: UUID
    name: str


class Counts(ApiModel):
    draft: int = 0
    sent: int = 0
    completed: int = 0


class Me(ApiModel):
    workspace: Named
    key: Named
    documents: Counts


class Data(ApiModel, Generic[T]):
    data: T
