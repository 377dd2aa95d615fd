"""The name of a downloaded file: safe on any system."""

import re
import unicodedata
from urllib.parse import quote
from uuid import UUID

MAX_BYTES = 200  # of the stem in UTF-8; common file systems allow 255 for the whole name

_UNSAFE = frozenset('<>:"/\\|?*')  # path separators, and what Windows refuses
# Windows before 11 opens a device instead of a file with such a name, whatever follows the dot.
_DEVICE = re.compile(r"(?i)^(?=(con|prn|aux|nul|conin\$|conout\$|(com|lpt)[0-9¹²³]) *\.)")


def content_disposition(document_id: UUID, file_name: str, file_type: str) -> str:
    """`attachment`, with a name made of the document's file name and the type of file.

    `Lease 2026.pdf` becomes `Lease 2026 – signed.pdf`, in ASCII for old clients and in UTF-8 for
    all others (RFC 6266, RFC 8187).
    """
    stem = safe(file_name[:-4] if file_name.lower().endswith(".pdf") else file_name)
    name = quote(_DEVICE.sub("_", f"{stem} – {file_type}.pdf"), safe="!#$&+-.^_`|~")  # attr-char
    ascii_name = _DEVICE.sub("_", f"{in_ascii(stem, document_id)} - {file_type}.pdf")
    return f"attachment; filename=\"{ascii_name}\"; filename*=UTF-8''{name}"


def in_ascii(stem: str, document_id: UUID) -> str:
    """The name without accents and without letters that ASCII does not have.

    If letters are lost, it ends in the document's id: otherwise all names of one script would be
    the same.
    """
    letters = unicodedata.normalize("NFKD", stem.replace("–", "-"))
    # Again: a wide quotation mark or slash is now one of ASCII's.
    plain = safe(letters.encode("ascii", "ignore").decode())
    # Old clients decode %20 (RFC 6266, appendix D).
    plain = re.sub("%(?=[0-9A-Fa-f]{2})", "_", plain)
    is_lossy = any(not char.isascii() and not unicodedata.combining(char) for char in letters)
    return f"{plain} {document_id}" if is_lossy else plain


def safe(name: str) -> str:
    """The name without characters that a file system or a header cannot have.

    Line breaks, other control characters and marks that change the direction of text are removed,
    path separators become `_`, and a long name is cut between characters.
    """
    clean = "".join("_" if char in _UNSAFE else char for char in name if _is_text(char))
    cut = " ".join(clean.split()).encode()[:MAX_BYTES].decode(errors="ignore")
    return cut.strip(" .") or "document"


def _is_text(char: str) -> bool:
    """Not a control (Cc), a format mark (Cf), a surrogate, private or unassigned."""
    return char.isspace() or not unicodedata.category(char).startswith("C")
