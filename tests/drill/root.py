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
NETWORK = ("apt-get", "deploy/build.sh")  # commands that need one


def require_tools() -> None:
    """Ends the program with one line if this machine cannot make a root."""
    missing = [name for name in ("debootstrap", "ip", "unshare") if not shutil.which(name)]
    if os.geteuid() or missing:
        sys.exit("The drill needs root; on Debian: apt-get install debootstrap iproute2")


class Root:
    """A Debian in a folder, with process ids, mounts and a loopback network of its own."""

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
        self.enter = ["nsenter", f"--target={inside}", "--mount", "--pid"]

    def command(self, words: list[str], folder: Path, *, network: bool = False) -> list[str]:
        """The command line that runs these words in a folder's root; `network`: the machine's."""
        variables = [f"{name}={value}" for name, value in VARIABLES.items()] if network else []
        net = [] if network else ["--net"]
        clean = ["env", "-i", f"PATH={PATH}", "HOME=/root", *variables]
        return [*self.enter, *net, "chroot", str(folder), *clean, *words]

    def run(self, text: str, folder: Path | None = None) -> str:
        """Runs a shell's commands; returns their output.

        Raises:
            SystemExit: one failed; the message has the output.
        """
        network = any(word in text for word in NETWORK)
        words = self.command(
            ["bash", "-euo", "pipefail", "-c", text], folder or self.folder, network=network
        )
        with tempfile.TemporaryFile("w+") as output:  # daemons would keep a pipe open
            code = subprocess.run(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
            output.seek(0)
            if code.returncode:
                sys.exit(f"Failed:\n{text}\n{output.read()[-3000:]}")
            return output.read()

    def close(self) -> None:
        self._holder.kill()
        self._holder.wait()
