"""Imports documents from a file, with their PDFs beside it.

The file has one JSON object a line (JSON Lines), in UTF-8. Each object is a Document as
`GET /documents` lists it (`links`, `progress` and `fileSize` are ignored), and also has

- `files`: `original`, and for a COMPLETED document `signed` and `certificate`; paths of PDFs
  relative to the file's folder, and inside it;
- `deletedAt`, optional: the document is deleted.

Fields that are null in the API may be absent. The pages of the original are counted; if they cannot
be, `pageCount` is used. A line without `id` always gets the same one, so a file can be imported
again. A document whose id exists in the workspace is updated, recipients and files included; the
files of one that is COMPLETED in the database are sealed, and a line with other files is refused.

The files of a batch of lines are uploaded, then the lines are written in one transaction. A line
that is refused is named, and the others are imported; with `strict`, all lines are or none.
"""
