"""Documents from outside: a file of the API's own Document objects, with the PDFs beside it.

The file is a JSON array or has one JSON object a line, in UTF-8. Each object is a Document as
`GET /documents` lists it (`links` and `progress` are ignored), and has besides

- `files`: `original`, and for a COMPLETED document `signed` and `certificate`; paths of PDFs
  relative to the file's folder, and inside it;
- `deletedAt`, optional: the document is deleted.

Fields that are null in the API may be absent. So may `pageCount` and `fileSize`, which are read
from the original and must agree with it when given, and `id` of documents and recipients: a new
one is made. A document whose id the workspace has is replaced in place by what the file says,
recipients and files included.

A file with any problem imports nothing, and the store is left as it was.
"""

from documents.importing.problems import ImportRefused
from documents.importing.run import Counts, import_file

__all__ = ["Counts", "ImportRefused", "import_file"]
