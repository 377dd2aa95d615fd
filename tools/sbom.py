"""`make sbom`: prints the packages that requirements.txt installs, as a CycloneDX document.

It has no time and no serial number, so that it changes with the requirements only.
"""

import json
import re
from pathlib import Path
from typing import Any

REQUIREMENTS = Path(__file__).resolve().parent.parent / "requirements.txt"


def component(requirement: str) -> dict[str, Any]:
    """One pinned package: `NAME==VERSION ; MARKER`, and its files' hashes."""
    pin, *hashes = requirement.split(" --hash=sha256:")
    pin, _, marker = pin.partition(" ; ")
    name, version = pin.split("==")
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pkg:pypi/{name}@{version}",
        "name": name,
        "version": version,
        "purl": f"pkg:pypi/{name}@{version}",
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
    }
    if marker:
        found["properties"] = [{"name": "marker", "value": marker}]
    return found


def sbom(requirements: str) -> dict[str, Any]:
    """The document for the text of a file of pip's requirements."""
    text = re.sub(r"^ *#.*\n", "", requirements, flags=re.M)
    lines = re.sub(r" \\\n +", " ", text).splitlines()
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "document-read-api",
                "name": "document-read-api",
            }
        },
        "components": [component(line) for line in lines if line],
    }


if __name__ == "__main__":
    print(json.dumps(sbom(REQUIREMENTS.read_text()), indent=2))  # noqa: T201
