"""Authentication, rules 1 to 9: one 401, keys that stop at once, no raw key kept."""

import hashlib
import os
from collections.abc import Callable
from datetime import timedelta
from string import ascii_letters, digits

import pytest
from django.db.models.functions import Now
from redis import Redis

from apikeys import keys
from apikeys.models import ApiKey
from config.request.redaction import PUBLIC_LENGTH
from tests.support import factories
from tests.support.cast import ENDS
from tests.support.client import Response, get, golden
from tests.support.database import whole_database
from tests.support.factories import Tenant
from tests.support.server import Server

ENDPOINTS = (
    "/api/v1/me",
    "/api/v1/documents",
    "/api/v1/documents/00000000-0000-4000-8000-000000000001",
    "/api/v1/documents/00000000-0000-4000-8000-000000000001/download",
)


def ended(tenant: Tenant, end: str) -> str:
    """The header of another key of the tenant, which has ended."""
    key, raw = factories.issue(tenant.workspace, "Ended", tenant.admin)
    ENDS[end](Tenant(tenant.workspace, tenant.admin, key, raw))
    return f"Bearer {raw}"


# What each cause sends, given a tenant whose key works.
CAUSES: dict[str, Callable[[Tenant], str | None]] = {
    "no header": lambda t: None,
    "an empty header": lambda t: "",
    "spaces only": lambda t: "   ",
    "the scheme alone": lambda t: "Bearer",
    "the scheme and a space": lambda t: "Bearer ",
    "the key alone": lambda t: t.raw,
    "another scheme": lambda t: f"Basic {t.raw}",
    "a longer scheme": lambda t: f"Bearers {t.raw}",
    "no space after the scheme": lambda t: f"Bearer{t.raw}",
    "a tab after the scheme": lambda t: f"Bearer\t{t.raw}",
    "a colon after the scheme": lambda t: f"Bearer: {t.raw}",
    "not dtd_": lambda t: f"Bearer sk_{t.raw[4:]}",
    "an upper-case prefix": lambda t: f"Bearer DTD_{t.raw[4:]}",
    "the prefix alone": lambda t: "Bearer dtd_",
    "the first characters only": lambda t: f"Bearer {t.key.prefix}",
    "one character less": lambda t: t.bearer[:-1],
    "one character more": lambda t: f"{t.bearer}0",
    "the other case": lambda t: f"Bearer dtd_{t.raw[4:].swapcase()}",
    "the hash": lambda t: f"Bearer {t.key.digest}",
    "the hash after the prefix": lambda t: f"Bearer dtd_{t.key.digest}",
    "a second word": lambda t: f"{t.bearer} {t.raw}",
    "quoted": lambda t: f'Bearer "{t.raw}"',
    "two keys": lambda t: f"{t.bearer}, {t.bearer}",
    "Latin-1": lambda t: "Bearer dtd_\xe9\xff",
    "non-ASCII at the end": lambda t: f"{t.bearer}\xa0",
    "unknown": lambda t: f"Bearer {keys.generate()}",
    "very long": lambda t: f"Bearer dtd_{'x' * 6000}",
    "revoked": lambda t: ended(t, "revoked"),
    "expired": lambda t: ended(t, "expired"),
    "deleted": lambda t: ended(t, "deleted"),
}


@pytest.fixture
def reference(acme: Tenant) -> Response:
    """The 401 that all others have to equal."""
    return get("/api/v1/me")


def test_authentication_401_is_json_and_names_the_scheme(reference: Response) -> None:
    assert reference.status == 401
    assert reference.json() == golden("unauthorized")
    assert reference.headers["www-authenticate"] == "Bearer"


def test_authentication_has_only_one_401(umbrella: Tenant, reference: Response) -> None:
    for cause, sent in CAUSES.items():
        assert get("/api/v1/me", sent(umbrella)).same() == reference.same(), cause
    assert umbrella.get("/me").status == 200


@pytest.mark.usefixtures("as_owner")
def test_authentication_of_deleted_workspace_is_401(umbrella: Tenant, reference: Response) -> None:
    umbrella.workspace.delete()
    assert get("/api/v1/me", umbrella.bearer).same() == reference.same()


def test_authentication_401_is_the_same_at_each_endpoint(reference: Response) -> None:
    for path in (*ENDPOINTS, "/api/v1/", "/api/v1/nothing", "/api/v1/documents/a/b"):
        assert get(path).same() == reference.same(), path
        assert get(path, method="POST").same() == reference.same(), path


def test_authentication_reads_the_scheme_case_insensitively(acme: Tenant) -> None:
    for scheme in ("Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "):
        assert get("/api/v1/me", f"{scheme} {acme.raw}").status == 200, scheme


def test_key_is_dtd_and_40_random_letters_or_digits() -> None:
    raws = [keys.generate() for _ in range(1000)]
    assert all(len(raw) == 44 and raw.startswith("dtd_") for raw in raws)
    assert {char for raw in raws for char in raw[4:]} == set(ascii_letters + digits)
    assert len(set(raws)) == 1000


def test_key_is_stored_as_its_sha_256_and_its_first_characters(acme: Tenant) -> None:
    assert acme.key.digest == hashlib.sha256(acme.raw.encode()).hexdigest()
    assert acme.key.prefix == acme.raw[:12]


@pytest.mark.parametrize("end", ENDS)
def test_key_that_has_ended_is_refused_at_once(acme: Tenant, end: str) -> None:
    ApiKey.objects.filter(pk=acme.key.pk).update(expires_at=Now() + timedelta(hours=1))
    assert acme.get("/me").status == 200
    ENDS[end](acme)
    assert acme.get("/me").status == 401


def test_key_raw_text_is_not_in_the_database_and_the_counter(server: Server, acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    raws = [acme.raw, *(factories.issue(acme.workspace, "More", acme.admin)[1] for _ in range(2))]
    for raw in raws:
        assert server.get("/me", raw).status == 200
        assert server.get(f"/documents/{raw}?cursor={raw}", raw).status == 404
        path = f"/documents/{document.id}/download?key={raw}"
        assert server.get(path, raw, user_agent=f"sync {raw}", x_forwarded_for=raw).status == 200
    ApiKey.objects.get(digest=keys.digest(raws[1])).revoke(by=acme.admin)
    ApiKey.objects.get(digest=keys.digest(raws[2])).delete_by(by=acme.admin)

    content = str(whole_database())
    for raw in raws:
        secret = raw[PUBLIC_LENGTH:]
        assert raw[:PUBLIC_LENGTH] in content  # the search does find what is there
        assert secret not in content
        assert secret.encode().hex() not in content
    assert keys.digest(raws[0]) in content
    counter = Redis.from_url(os.environ["REDIS_URL"], decode_responses=True)
    names = counter.keys()
    assert names
    assert not [raw for raw in raws if raw in str([(name, counter.get(name)) for name in names])]


def test_authentication_ignores_cookies(acme: Tenant) -> None:
    for cookie in ("sessionid=abc", "sessionid=abcdefgh12345678", "csrftoken=x"):
        assert get("/api/v1/me", cookie=cookie).same() == get("/api/v1/me").same()
        assert acme.get("/me", cookie=cookie).same() == acme.get("/me").same()
