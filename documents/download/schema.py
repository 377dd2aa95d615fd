"""The OpenAPI operation of a download."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse, extend_schema

from config.api import errors
from config.api.schema.headers import FILE, HEADERS, constant, header, integer, pattern, revalidated
from config.api.schema.operations import error_responses, query, request_header
from documents.api.parameters import FILE_TYPES
from documents.api.schema import ID

PDF = "application/pdf"
SIZE = 48213  # bytes
ETAG = '"826aed33508f886a3b5bffa1989ce707a9312c9af6e354c906041481edc32013"'
DATE = "Tue, 03 Mar 2026 12:00:00 GMT"
DIGEST = "gmrtM1CPiGo7W/+hmJznB6kxLJr241TJBgQUge3DIBM="  # the ETag's bytes in base64
FILE_NAME = (
    'attachment; filename="frame-agreement - signed.pdf"; '
    "filename*=UTF-8''frame-agreement%20%E2%80%93%20signed.pdf"
)
FIRST_BYTES = OpenApiExample("The file's first bytes", "%PDF-1.7\n…")

FILE_HEADERS = [
    header("Accept-Ranges", constant("bytes"), FILE, "Ranges of bytes can be requested."),
    revalidated(FILE),
    header(
        "Content-Disposition",
        {"type": "string", "examples": [FILE_NAME]},
        FILE,
        "The name to save the file under.",
    ),
    header("Content-Length", integer(minimum=1), (200, 206), "Bytes of the body."),
    header(
        "Content-Range",
        pattern("^bytes [0-9]+-[0-9]+/[0-9]+$", f"bytes 0-999/{SIZE}"),
        [206],
        "The range of bytes in the body, and the size of the file.",
    ),
    header(
        "Content-Range",
        pattern("^bytes \\*/[0-9]+$", f"bytes */{SIZE}"),
        [416],
        "The size of the file in bytes.",
    ),
    header(
        "ETag",
        pattern('^"[0-9a-f]{64}"$', ETAG),
        FILE,
        "The file's SHA-256. A file never changes; a different file has a different tag.",
    ),
    header(
        "Last-Modified", {"type": "string", "examples": [DATE]}, FILE, "When the file was stored."
    ),
    header(
        "Repr-Digest",
        pattern("^sha-256=:[A-Za-z0-9+/]{43}=:$", f"sha-256=:{DIGEST}:"),
        FILE,
        "The SHA-256 of the whole file, also in a partial response (RFC 9530). Compare the file "
        "that you have received with it.",
    ),
]

download_document = extend_schema(
    operation_id="download_document",
    summary="Download a PDF",
    description="""Returns a PDF of the document.

| `type` | file |
|---|---|
| `signed` | the sealed, signed PDF; the default once the document is complete |
| `original` | the file as uploaded; the default before |
| `certificate` | the certificate of completion |

`signed` and `certificate` exist once everyone has finished; before, they are 404. The id in a
`document.completed` event is the `id` here.

Each download is recorded in the document's audit log under the name of the key. Use `Range` and
`If-Range` to resume an interrupted download, and `If-None-Match` to check a copy.""",
    tags=["Documents"],
    parameters=[
        ID,
        query("type", {"type": "string", "enum": list(FILE_TYPES)}, "Which file."),
        request_header(
            "Range",
            "The range of bytes to send. Several ranges, or a value in another form, return the "
            "whole file.",
            First="bytes=0-999",
            From="bytes=48000-",
            Last="bytes=-500",
        ),
        request_header(
            "If-Range",
            "The `ETag` of the file that the range belongs to; if the file has another one, the "
            "whole file is returned.",
            ETag=ETAG,
        ),
        request_header(
            "If-None-Match",
            "`ETag`s that the client has; 304 if the file's is one of them.",
            ETag=ETAG,
            Any="*",
        ),
        request_header("If-Match", "`ETag`s; 412 if the file's is none of them.", ETag=ETAG),
        request_header("If-Modified-Since", "304 if the file is not newer.", Date=DATE),
        request_header("If-Unmodified-Since", "412 if the file is newer.", Date=DATE),
        *HEADERS,
        *FILE_HEADERS,
    ],
    responses={
        (200, PDF): OpenApiResponse(OpenApiTypes.BINARY, "The whole file.", [FIRST_BYTES]),
        (206, PDF): OpenApiResponse(
            OpenApiTypes.BINARY, "The range of bytes that `Range` requests.", [FIRST_BYTES]
        ),
        304: OpenApiResponse(None, "The client has this file already."),
        **error_responses(
            errors.InvalidParameter("type", f"one of {', '.join(FILE_TYPES)}"),
            errors.DocumentNotFound(),
            errors.DocumentNotComplete(),
            errors.PreconditionFailed(),
            errors.RangeNotSatisfiable(SIZE),
            errors.TooManyDownloads(),
        ),
    },
)
