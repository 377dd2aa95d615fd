"""The key and the witness of the audit log on a laptop, where nobody has set them up.

They show how sealing works. They prove nothing to anybody else: the user of a laptop has the key,
the database and the witness.
"""

import json
from collections.abc import MutableMapping
from pathlib import Path

from config.dev.services import generated_once

NAME = "laptop.example/audit"  # of the log


def provide(environ: MutableMapping[str, str], folder: Path) -> None:
    """Sets the variables of the seals that `environ` lacks; the data folder keeps the key.

    With AUDIT_PUBLIC_KEYS set to nothing, the laptop does not seal. Raises OSError if the folder
    cannot be used.
    """
    if environ.keys().isdisjoint({"AUDIT_SIGNING_KEY", "AUDIT_PUBLIC_KEYS"}):
        environ.update(json.loads(generated_once(folder / "audit_key.json", _key)))
    if not environ.get("AUDIT_WITNESSES"):
        if "," in str(folder):
            raise OSError("its path has a comma, which a list of witnesses cannot hold")
        environ["AUDIT_WITNESSES"] = f"file:{folder / 'checkpoints'}"


def _key() -> str:
    from audit.sealing.keys import PrivateKey  # noqa: PLC0415 - the first start only needs it

    key = PrivateKey.generate(NAME)
    return json.dumps({"AUDIT_SIGNING_KEY": key.encode(), "AUDIT_PUBLIC_KEYS": str(key.public)})
