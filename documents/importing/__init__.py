"""Imports documents from a file, with their PDFs beside it.

The file has one JSON object a line (JSON Lines), in UTF-8. Each object is a Document as
`GET /documents` lists it (`links` and `progress` are ignored), and also has

- `files`: `original`, and for a COMPLETED document `signed` and `certificate`; paths of PDFs
  relative to the file's folder, and inside it;
- `deletedAt`, optional: the document is deleted.

A document has at most 1,000 `recipients`. Fields that are null in the API may be absent. So may
`pageCount` and `fileSize`, which are read from the original and must agree with it when given, and
`id` of documents and recipients: a new one is made. A document whose id exists in the workspace is
replaced in place, recipients and files included. Neither `title` nor `fileName` may contain an API
key.

The files of a document that is COMPLETED in the database are sealed. A line that would replace or
remove one is a problem. Any other change of a complete document is an audit entry with the names
of the fields. So are created, completed and deleted documents, with the digest of the imported file
and those of their PDFs.

The pages of each PDF are counted within 10 seconds and 100 MB of memory, or it is a problem.

A file with any problem imports nothing and leaves the object storage as it was.
"""

from documents.importing.problems import ImportRefused
from documents.importing.run import Counts, import_file

__all__ = ["Counts", "ImportRefused", "import_file"]
