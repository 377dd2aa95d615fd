"""The files of deploy/."""

from typing import Any

import yaml

from tests.support.server import ROOT

DEPLOY = ROOT / "deploy"


def compose() -> dict[str, Any]:
    """The services of compose.yaml by name."""
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return services
