#!/usr/bin/env python3
"""Downloads the signed PDF of one document, given its id from the event `document.completed`.

The file is saved as a whole in FOLDER/DOCUMENT_ID/, so an event that is delivered twice changes
nothing, and its path is printed. An error is one line on stderr, and exit status 1.

It needs the client: pip install ./client

  DTD_BASE_URL  address of the service, without /api/v1: https://…
  DTD_API_KEY   a key from the workspace's developer settings: dtd_…
"""

import argparse
import sys
from pathlib import Path
from uuid import UUID

import dtd


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("document_id", metavar="DOCUMENT_ID")
    parser.add_argument("--to", metavar="FOLDER", type=Path, default=Path("attachments"))
    options = parser.parse_args()
    try:
        id = str(UUID(options.document_id))  # one spelling: it is part of two paths
    except ValueError:
        sys.exit("DOCUMENT_ID must be a UUID.")
    try:
        with dtd.Client() as client:
            (options.to / id).mkdir(parents=True, exist_ok=True)
            print(client.download(id, type="signed", to=options.to / id))
    except OSError as exc:
        sys.exit(f"{exc.filename}: {exc.strerror}")
    except (dtd.Error, ValueError) as exc:
        sys.exit(str(exc))


if __name__ == "__main__":
    main()
