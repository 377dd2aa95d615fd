"""A Debian in a folder, for commands that think that they have a machine of their own."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PASSED_ON = re.compile(r"PIP_.*|.*_proxy|.*_PROXY|.*SSL_CERT.*|CURL_CA_BUNDLE")
VARIABLES = {name: value for name, value in os.environ.items() if PASSED_ON.fullmatch(name)}


def require_tools() -> None:
    """Ends the program with one line if this machine cannot make a root."""
    missing = [
        name for name in ("debootstrap", "ip", "slirp4netns", "unshare") if not shutil.which(name)
    ]
    if os.geteuid() or missing:
        sys.exit(
            "The drill needs root; on Debian: apt-get install debootstrap iproute2 slirp4netns"
        )


class Root:
    """A Debian in a folder, with process ids, mounts and a network of its own.

    slirp4netns passes on what it sends to the machine's network; nobody can connect to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        mounts = f"mount -t proc proc {folder}/proc; mkdir -p {folder}/dev/shm"
        self._holder = subprocess.Popen(
            ["unshare", "--mount", "--pid", "--net", "--fork", "--kill-child", "sh", "-ec"]
            + [f"{mounts}; mount -t tmpfs shm {folder}/dev/shm; ip link set lo up; exec sleep inf"]
        )
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children")
        while not (inside := children.read_text().strip()) and self._holder.poll() is None:
            time.sleep(0.01)
        while Path(f"/proc/{inside}/comm").read_text() != "sleep\n":
            time.sleep(0.01)
        self.enter = ["nsenter", f"--target={inside}", "--mount", "--pid", "--net"]
        slirp = ["slirp4netns", "--configure", "--mtu=65520", inside, "tap0"]
        self._network = subprocess.Popen(
            slirp, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def command(self, words: list[str], folder: Path) -> list[str]:
        """The command line that runs these words in a folder's root."""
        variables = [f"{name}={value}" for name, value in VARIABLES.items()]
        clean = ["env", "-i", f"PATH={PATH}", "HOME=/root", *variables]
        return [*self.enter, "chroot", str(folder), *clean, *words]

    def run(self, text: str, folder: Path | None = None) -> str:
        """Runs a shell's commands; returns their output.

        Raises:
            SystemExit: one failed; the message has the output.
        """
        words = self.command(["bash", "-euo", "pipefail", "-c", text], folder or self.folder)
        with tempfile.TemporaryFile("w+") as output:  # daemons would keep a pipe open
            code = subprocess.run(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
            output.seek(0)
            if code.returncode:
                sys.exit(f"Failed:\n{text}\n{output.read()[-3000:]}")
            return output.read()

    def close(self) -> None:
        self._network.kill()
        self._network.wait()
        self._holder.kill()
        self._holder.wait()
