"""What the description of the API says of downloads."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema

from config.api import errors
from config.openapi.headers import HEADERS, header
from config.openapi.operations import condition, query, refusals
from documents.api.parameters import FILE_TYPES
from documents.api.schema import ID

PDF = "application/pdf"
FILE = (200, 206, 304)  # the answers that speak of the file
SIZE = 48213  # bytes
ETAG = '"826aed33508f886a3b5bffa1989ce707a9312c9af6e354c906041481edc32013"'
DATE = "Tue, 03 Mar 2026 12:00:00 GMT"
DIGEST = "gmrtM1CPiGo7W/+hmJznB6kxLJr241TJBgQUge3DIBM="  # the same in base64
SOME_BYTES = OpenApiExample("The file's first bytes", "%PDF-1.7\n…")

FILE_HEADERS = [
    header("Accept-Ranges", {"type": "string", "const": "bytes"}, FILE, "Parts can be asked for."),
    header(
        "Cache-Control",
        {"type": "string", "const": "private, no-cache"},
        FILE,
        "A copy may be kept, and is to be checked before it is used again.",
    ),
    header(
        "Content-Disposition",
        {
            "type": "string",
            "examples": [
                'attachment; filename="frame-agreement - signed.pdf"; '
                "filename*=UTF-8''frame-agreement%20%E2%80%93%20signed.pdf"
            ],
        },
        FILE,
        "The name to save the file under.",
    ),
    header(
        "Content-Length",
        {"type": "integer", "minimum": 1},
        (200, 206),
        "Bytes of the body.",
    ),
    header(
        "Content-Range",
        {
            "type": "string",
            "pattern": "^bytes [0-9]+-[0-9]+/[0-9]+$",
            "examples": [f"bytes 0-999/{SIZE}"],
        },
        [206],
        "Which bytes of how many these are.",
    ),
    header(
        "Content-Range",
        {"type": "string", "pattern": "^bytes \\*/[0-9]+$", "examples": [f"bytes */{SIZE}"]},
        [416],
        "How many bytes the file has.",
    ),
    header(
        "ETag",
        {"type": "string", "pattern": '^"[0-9a-f]{64}"$', "examples": [ETAG]},
        FILE,
        "The file's SHA-256. A file never changes; another one has another tag.",
    ),
    header(
        "Last-Modified",
        {"type": "string", "examples": [DATE]},
        FILE,
        "When the file entered the service.",
    ),
    header(
        "Repr-Digest",
        {
            "type": "string",
            "pattern": "^sha-256=:[A-Za-z0-9+/]{43}=:$",
            "examples": [f"sha-256=:{DIGEST}:"],
        },
        FILE,
        "The SHA-256 of the whole file, also with a part of it (RFC 9530).",
    ),
]

download_document = extend_schema(
    operation_id="download_document",
    summary="Download a PDF",
    description="""A PDF of the document.

| `type` | file |
|---|---|
| `signed` | the sealed, signed PDF; the default once the document is complete |
| `original` | the file as uploaded; the default before |
| `certificate` | the certificate of completion |

`signed` and `certificate` exist once everyone has finished; before, they are 404. The id in a
`document.completed` event is the `id` here.

Each download is recorded in the document's audit trail under the name of the key. An interrupted
one can be resumed with `Range` and `If-Range`; a copy can be checked with `If-None-Match`.""",
    tags=["Documents"],
    parameters=[
        ID,
        query("type", {"type": "string", "enum": list(FILE_TYPES)}, "Which file."),
        condition(
            "Range",
            "The part to send. Several ranges, and what has another form, are answered with the "
            "whole file.",
            First="bytes=0-999",
            From="bytes=48000-",
            Last="bytes=-500",
        ),
        condition(
            "If-Range",
            "The `ETag` that the part has to belong to; if the file is another one, all of it is "
            "sent.",
            ETag=ETAG,
        ),
        condition(
            "If-None-Match",
            "`ETag`s that the client has; 304 if the file is one of them.",
            ETag=ETAG,
            Any="*",
        ),
        condition("If-Match", "`ETag`s, one of which the file has to have; else 412.", ETag=ETAG),
        condition("If-Modified-Since", "304 if the file is not newer.", Date=DATE),
        condition("If-Unmodified-Since", "412 if the file is newer.", Date=DATE),
        *HEADERS,
        *FILE_HEADERS,
    ],
    responses={
        (200, PDF): OpenApiResponse(OpenApiTypes.BINARY, "The whole file.", [SOME_BYTES]),
        (206, PDF): OpenApiResponse(
            OpenApiTypes.BINARY, "The part of the file that `Range` asks for.", [SOME_BYTES]
        ),
        304: OpenApiResponse(None, "The client has this file already."),
        **refusals(
            errors.InvalidParameter("type", f"one of {', '.join(FILE_TYPES)}"),
            errors.DocumentNotFound(),
            errors.DocumentNotComplete(),
            errors.PreconditionFailed(),
            errors.RangeNotSatisfiable(SIZE),
        ),
    },
)
