"""A Debian of its own under systemd-nspawn, booted, for commands that think they have a machine."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PASSED_ON = re.compile(r"PIP_.*|.*_proxy|.*_PROXY|.*SSL_CERT.*|CURL_CA_BUNDLE")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PACKAGES = "debootstrap iproute2 iptables podman runc slirp4netns systemd-container"
TOOLS = ("debootstrap", "ip", "iptables", "podman", "runc", "slirp4netns", "systemd-nspawn")
TRUST = Path("/usr/local/share/ca-certificates")
FREE = 15 * 10**9  # bytes; on a full disk, PostgreSQL stops
JOURNAL = """journalctl --no-pager -n 500 -u 'documents-api*' -u 'postgresql*' |
  grep -v '"logger":"access"' | tail -n 60"""


def require_tools() -> None:
    """Ends the program with one line if this machine lacks something that the drill needs."""
    if os.geteuid() or not all(map(shutil.which, TOOLS)):
        sys.exit(f"The drill needs root; on Debian: apt-get install {PACKAGES}")
    words = [shutil.which("podman-compose") or "true", "version"]
    said = subprocess.run(words, capture_output=True, text=True).stdout
    version = re.search(r"podman-compose version (\d+)\.(\d+)", said)
    if not version or tuple(map(int, version.groups())) < (1, 1):
        sys.exit("The drill needs podman-compose 1.1 or newer on the PATH, as pip installs it.")
    if shutil.disk_usage(tempfile.gettempdir()).free < FREE:
        sys.exit(f"The drill needs {FREE // 10**9} GB in {tempfile.gettempdir()}.")


def passed_on() -> list[str]:
    """This machine's variables of pip, proxies and trust."""
    return [f"{name}={value}" for name, value in os.environ.items() if PASSED_ON.fullmatch(name)]


@contextmanager
def alone() -> Iterator[None]:
    """No other drill runs meanwhile: their units would be in the same control groups."""
    with Path("/run/documents-api-drill").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit("Another drill runs on this machine.")
        yield


def bare_debian(folder: Path, *packages: str) -> None:
    included = [f"--include={','.join(packages)}"] if packages else []
    words = ["debootstrap", "--variant=minbase", *included, "bookworm", str(folder)]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)
    if TRUST.is_dir():
        shutil.copytree(TRUST, folder / str(TRUST)[1:], dirs_exist_ok=True)


class Machine:
    """A machine that has booted the Debian in a folder.

    slirp4netns passes on what it sends to this machine's network; nobody can connect to it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        words = ["unshare", "--net", "sh", "-c", "ip link set lo up; exec sleep inf"]
        holder = subprocess.Popen(words)
        while Path(f"/proc/{holder.pid}/comm").read_text() != "sleep\n":
            time.sleep(0.01)
        words = ["slirp4netns", "--configure", "--mtu=65520", str(holder.pid), "tap0"]
        none = subprocess.DEVNULL
        network = subprocess.Popen(words, stdout=none, stderr=none)
        words = ["systemd-nspawn", "--boot", f"--directory={folder}", "--register=no"]
        words += ["--keep-unit", "--machine=drill", "--console=read-only", "--resolv-conf=off"]
        words += [f"--network-namespace-path=/proc/{holder.pid}/ns/net"]
        self._nspawn = subprocess.Popen(words, stdin=none, stdout=none, stderr=none)
        self._others = (network, holder)
        while not (init := self._init()):
            time.sleep(0.1)
        self._enter = ["nsenter", f"--target={init}", "--all"]
        for _ in range(100):
            if self._state() in ("running", "degraded"):
                break
            time.sleep(0.5)
        (folder / "etc/resolv.conf").unlink(missing_ok=True)
        shutil.copy("/etc/resolv.conf", folder / "etc/resolv.conf")

    def _init(self) -> str:
        """The pid of the machine's systemd. nspawn has another child before it."""
        pid = self._nspawn.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(FileNotFoundError):
                if Path(f"/proc/{child}/comm").read_text() == "systemd\n":
                    return child
        return ""

    def _state(self) -> str:
        words = self.command(["systemctl", "is-system-running"])
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()

    def command(self, words: list[str]) -> list[str]:
        return [*self._enter, "env", "-i", f"PATH={PATH}", "HOME=/root", *passed_on(), *words]

    def run(self, text: str) -> str:
        """Runs a shell's commands; returns their output.

        Raises:
            SystemExit: one failed; the message has the output.
        """
        words = self.command(["bash", "-euo", "pipefail", "-c", f"cd /root\n{text}"])
        with tempfile.TemporaryFile("w+") as output:  # daemons would keep a pipe open
            code = subprocess.run(words, stdout=output, stderr=output, stdin=subprocess.DEVNULL)
            output.seek(0)
            if code.returncode:
                words = self.command(["sh", "-c", JOURNAL])
                journal = subprocess.run(words, capture_output=True, text=True).stdout
                sys.exit(f"Failed:\n{text}\n{output.read()[-3000:]}\n{journal}")
            return output.read()

    def close(self) -> None:
        subprocess.run(self.command(["systemctl", "poweroff", "--force", "--force"]))
        self._nspawn.wait()
        for each in self._others:
            each.kill()
            each.wait()
