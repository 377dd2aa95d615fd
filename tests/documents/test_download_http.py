"""A download as RFC 9110 has it: validators, ranges, digests, names; sent by us or by nginx."""

import base64
import hashlib
import random
from http.client import IncompleteRead
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any
from urllib.parse import quote

import pytest

from config.api.errors import RangeNotSatisfiable
from documents.download.filenames import content_disposition
from documents.download.ranges import ByteRange, parse_range
from documents.models import Document
from tests.support import factories
from tests.support.cast import downloads, path_of, started
from tests.support.client import OF_ONE_RESPONSE, Response
from tests.support.factories import Tenant, at, uid
from tests.support.nginx import Nginx
from tests.support.proxy import HOST, failing_after
from tests.support.server import Server

CONTENT = random.Random(4).randbytes(1000)  # noqa: S311 - bytes to tell parts by
DIGEST = hashlib.sha256(CONTENT)
REPR_DIGEST = f"sha-256=:{base64.b64encode(DIGEST.digest()).decode()}:"
ETAG = f'"{DIGEST.hexdigest()}"'
STORED = at("2026-02-03 04:05:06.789")
MODIFIED = "Tue, 03 Feb 2026 04:05:06 GMT"
LATER = "Tue, 03 Feb 2026 04:05:07 GMT"
EARLIER = "Tue, 03 Feb 2026 04:05:05 GMT"
OTHER = '"0000"'
# What a server says of itself rather than of the file.
OF_THE_SERVER = ("connection", "date", "server")


@pytest.fixture
def lease(acme: Tenant) -> Document:
    return made(acme)


def made(tenant: Tenant, content: bytes = CONTENT, **fields: Any) -> Document:
    """A document whose original has been stored at STORED."""
    document = factories.document(tenant.workspace, content=content, **fields)
    document.original.created_at = STORED
    document.original.save()
    return document


def of_the_file(response: Response) -> dict[str, str]:
    """The headers that do not depend on who has sent them."""
    return {name: value for name, value in response.headers.items() if name not in OF_THE_SERVER}


def test_download_of_a_whole_file_has_all_headers_and_its_head_too(
    front: Server, acme: Tenant, lease: Document
) -> None:
    response = front.get(path_of(lease), acme.raw)
    head = front.get(path_of(lease), acme.raw, "HEAD", range="bytes=0-9")
    assert (head.status, head.body, len(downloads())) == (200, b"", 1)
    headers, own = of_the_file(response), dict.fromkeys(OF_ONE_RESPONSE)
    assert of_the_file(head) | own == headers | own
    assert len(headers.pop("request-id")) == 32
    assert headers.pop("ratelimit").startswith('"key";r=299;t=')
    assert int(headers.pop("x-ratelimit-reset")) > 0
    assert (response.status, response.body) == (200, CONTENT)
    assert headers == {
        "accept-ranges": "bytes",
        "cache-control": "private, no-cache",
        "vary": "Authorization",
        "content-disposition": 'attachment; filename="agreement - original.pdf"; '
        "filename*=UTF-8''agreement%20%E2%80%93%20original.pdf",
        "content-length": "1000",
        "content-type": "application/pdf",
        "cross-origin-opener-policy": "same-origin",
        "etag": ETAG,
        "last-modified": MODIFIED,
        "ratelimit-policy": '"key";q=300;w=60',
        "referrer-policy": "same-origin",
        "repr-digest": REPR_DIGEST,
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "x-ratelimit-limit": "300",
        "x-ratelimit-remaining": "299",
    }


# Range → first byte, last byte of a file of 1,000.
SATISFIED = {
    "bytes=0-499": (0, 499),
    "bytes=500-": (500, 999),
    "bytes=999-": (999, 999),
    "bytes=-1001": (0, 999),
    "bytes=0-1000": (0, 999),
    "bytes=990-" + "9" * 5000: (990, 999),
    "bytes=-" + "9" * 5000: (0, 999),
    "bytes=" + "0" * 5000 + "7-8": (7, 8),
    "Bytes=7-8": (7, 8),
    "bytes= 7-8": (7, 8),
    "bytes=,7-8,\t,": (7, 8),
}


IGNORED = [
    "bytes=0-1,5-6",  # several: the whole file
    "bytes",
    "bytes=-",
    "bytes=a-b",
    "bytes=1",
    "bytes=5-4",
    "bytes=+1-2",
    "bytes=1 - 2",
    "lines=0-1",
    "",
    "bytes=\u0661-\u0662".encode().decode("latin-1"),
]


# After the end of the file: 416.
UNSATISFIABLE = ["bytes=1000-", "bytes=1000-1001", "bytes=-0", "bytes=" + "9" * 5000 + "-"]


def test_parse_range_is_the_part_or_none_for_the_whole_file() -> None:
    found = {sent: parse_range(sent, 1000) for sent in SATISFIED}
    assert found == {sent: ByteRange(*part, 1000) for sent, part in SATISFIED.items()}
    assert [sent for sent in IGNORED if parse_range(sent, 1000)] == []
    for sent in UNSATISFIABLE:
        with pytest.raises(RangeNotSatisfiable):
            parse_range(sent, 1000)


def test_download_range_is_a_206_with_that_part_or_the_whole_file_or_416(
    front: Server, acme: Tenant, lease: Document
) -> None:
    def sent(header: str) -> Response:
        return front.get(path_of(lease), acme.raw, range=header)

    for header, part in {"bytes=7-8": (7, 8), "bytes=-500": (500, 999)}.items():
        response = sent(header)
        first, last = part
        assert (response.status, response.body) == (206, CONTENT[first : last + 1])
        assert response.headers["content-range"] == f"bytes {first}-{last}/1000"
        assert response.headers["content-length"] == str(last - first + 1)
        assert (response.headers["etag"], response.headers["repr-digest"]) == (ETAG, REPR_DIGEST)
    whole = sent("bytes=0-1,5-6")
    assert (whole.status, whole.body) == (200, CONTENT)
    assert "content-range" not in whole.headers
    for header in UNSATISFIABLE:
        response = sent(header)
        assert (response.status, response.headers["content-range"]) == (416, "bytes */1000")
        assert response.error == "The file has no such bytes: it has 1000."
    assert [(entry.byte_range, entry.file_sha256) for entry in downloads()] == [
        (byte_range, DIGEST.hexdigest()) for byte_range in ("7-8/1000", "500-999/1000", "")
    ]


# RFC 9110, section 13.2.2: the conditions of a request → what it gets.
CONDITIONS: list[tuple[dict[str, str], int]] = [
    ({"if_none_match": ETAG}, 304),
    ({"if_none_match": "W/" + ETAG}, 304),  # weak comparison
    ({"if_modified_since": MODIFIED}, 304),
    ({"if_modified_since": EARLIER}, 200),
    ({"if_modified_since": "yesterday"}, 200),
    ({"if_none_match": OTHER, "if_modified_since": LATER}, 200),  # the tag decides
    ({"if_none_match": ETAG, "if_modified_since": EARLIER}, 304),
    ({"if_match": OTHER}, 412),
    ({"if_unmodified_since": MODIFIED}, 200),
    ({"if_unmodified_since": EARLIER}, 412),
    ({"if_match": ETAG, "if_unmodified_since": EARLIER}, 200),  # the tag decides
    ({"range": "bytes=0-9", "if_none_match": ETAG}, 304),  # Range comes last
    ({"range": "bytes=2000-", "if_none_match": ETAG}, 304),
    ({"range": "bytes=0-9", "if_match": OTHER}, 412),
    ({"range": "bytes=0-9", "if_match": ETAG}, 206),
    ({"range": "bytes=0-9", "if_none_match": OTHER}, 206),
    ({"range": "bytes=0-9", "if_range": ETAG}, 206),
    ({"range": "bytes=0-9", "if_range": "W/" + ETAG}, 200),
    ({"range": "bytes=0-9", "if_range": OTHER}, 200),
    ({"range": "bytes=0-9", "if_range": MODIFIED}, 206),
    ({"range": "bytes=0-9", "if_range": LATER}, 200),  # a date has to match exactly
    ({"range": "bytes=0-9", "if_range": "nonsense"}, 200),
    ({"range": "bytes=2000-", "if_range": ETAG}, 416),
]


def test_download_conditions_are_judged_in_the_order_of_the_rfc(
    front: Server, acme: Tenant, lease: Document
) -> None:
    responses = [front.get(path_of(lease), acme.raw, **sent) for sent, _ in CONDITIONS]
    got = [
        (sent, response.status) for (sent, _), response in zip(CONDITIONS, responses, strict=True)
    ]
    assert got == CONDITIONS
    bodies = {200: CONTENT, 206: CONTENT[:10], 304: b""}
    for response in responses:
        if response.status in bodies:
            assert response.body == bodies[response.status]
            assert response.headers["etag"] == ETAG
        if response.status == 304:
            assert response.headers["cache-control"] == "private, no-cache"
        if response.status == 412:
            assert "If-Match" in response.error
    assert len(downloads()) == sum(status in (200, 206) for _, status in CONDITIONS)


ID = "…"  # stands for the document's id, where the ASCII name has lost letters
NAMES = {
    "Lease 2026.pdf": ("Lease 2026", "Lease%202026"),
    "Größe – 7.pdf": (f"Groe - 7 {ID}", "Gr%C3%B6%C3%9Fe%20%E2%80%93%207"),
    "契約書.pdf": (f"document {ID}", "%E5%A5%91%E7%B4%84%E6%9B%B8"),
    # All of ASCII but NUL. Percent signs are only where RFC 8187, section 3.2.1, needs them.
    "".join(map(chr, range(1, 128))): (
        f"!_#$%&'()_+,-._{digits}_;_=__@{ascii_uppercase}[_]^_`{ascii_lowercase}{{_}}~",
        f"!_#$%25&%27%28%29_+%2C-._{digits}_%3B_%3D__%40{ascii_uppercase}%5B_%5D^_`"
        f"{ascii_lowercase}%7B_%7D~",
    ),
    'a"; filename="b.exe': ("a_; filename=_b.exe", "a_%3B%20filename%3D_b.exe"),
    # Wide letters, which lose their width in ASCII.
    "a＂; filename=evil.exe; x=＂.pdf": (
        "a_; filename=evil.exe; x=_",
        "a%EF%BC%82%3B%20filename%3Devil.exe%3B%20x%3D%EF%BC%82",
    ),
    "．．／．．／etc／passwd.pdf": ("_.._etc_passwd", quote("．．／．．／etc／passwd")),
    "C：＼x": ("C__x", "C%EF%BC%9A%EF%BC%BCx"),
    "℀": ("a_c", "%E2%84%80"),
    "㏂" * 100: ("a.m." * 49 + "a.m", "%E3%8F%82" * 66),  # its ASCII letters need more bytes
    "../../etc/passwd": ("_.._etc_passwd", "_.._etc_passwd"),
    "a\r\nSet-Cookie: b=c\x01\x7f.pdf": ("a Set-Cookie_ b=c", "a%20Set-Cookie_%20b%3Dc"),
    "\u202egnp.exe.pdf": ("gnp.exe", "gnp.exe"),
    "\ue000X\uffff.pdf": ("X", "X"),  # of private use, and never assigned
    "x" * 250 + ".pdf": ("x" * 200, "x" * 200),
    "契" * 250: (f"document {ID}", "%E5%A5%91" * 66),  # 3 bytes each; 67 are more than 200
    "a%20w%zz%4.pdf": ("a_20w%zz%4", "a%2520w%25zz%254"),  # old clients decode `%20`
    ".pdf": ("document", "document"),
    " a  b .pdf": ("a b", "a%20b"),
    # Windows before 11 opens devices for these names.
    "con.5.pdf": ("_con.5", "_con.5"),
    "COM¹ .5": ("_COM1 .5", "_COM%C2%B9%20.5"),
    "CON.pdf": ("CON", "CON"),  # followed by " – original.pdf", it is none
}


def test_content_disposition_has_a_name_that_is_safe() -> None:
    id = uid(1)
    assert {name: content_disposition(id, name, "original") for name in NAMES} == {
        name: f'attachment; filename="{plain.replace(ID, str(id))} - original.pdf"; '
        f"filename*=UTF-8''{encoded}%20%E2%80%93%20original.pdf"
        for name, (plain, encoded) in NAMES.items()
    }


def test_download_whose_body_breaks_off_never_looks_complete(front: Server, acme: Tenant) -> None:
    connection = started(front, acme, made(acme, bytes(30_000_000)))
    response = connection.getresponse()
    response.read(1)
    assert len(downloads()) == 1
    front.store.refuse()
    with pytest.raises((IncompleteRead, ConnectionResetError)):
        response.read()
    connection.close()
    response.close()
    assert len(downloads()) == 1


def test_download_signed_url_reaches_neither_the_client_nor_a_log(
    nginx: Nginx, acme: Tenant, lease: Document
) -> None:
    response = nginx.get(path_of(lease), acme.raw)
    assert response.status == 200
    # The application has looked; nginx itself has to fail.
    nginx.store.alter = failing_after(1)
    failed = nginx.get(path_of(lease), acme.raw)
    assert failed.status == 503
    assert len(downloads()) == 2
    told = f"{response.headers}{failed.headers}{failed.body!r}{nginx.written()}{nginx.log()}"
    assert response.headers["request-id"] in nginx.written()
    for secret in ("X-Amz", "Signature", f"_storage/{HOST}", lease.original.object_key, acme.raw):
        assert secret not in told
