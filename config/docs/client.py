"""The source of the package dtd-client, which pip builds and installs from this service.

A wheel would have to be built with each release, by packages that the service does not have.
"""

import re
import tarfile
from functools import cache
from io import BytesIO

from django.conf import settings

FOLDER = settings.BASE_DIR / "client"
[VERSION] = re.findall('VERSION = "(.+)"', (FOLDER / "dtd" / "version.py").read_text())
NAME = f"dtd_client-{VERSION}"  # pip keeps what it has built of a URL, so each version has its own


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if member.name.endswith("__pycache__") else member


@cache
def archive() -> bytes:
    file = BytesIO()
    # A link in it leads out of the folder.
    with tarfile.open(fileobj=file, mode="w:gz", dereference=True) as tar:
        for name in ("pyproject.toml", "README.md", "dtd"):
            tar.add(FOLDER / name, f"{NAME}/{name}", filter=without_owner)
    return file.getvalue()
