"""The service's image, built and run by podman without a registry: its base is debootstrap's."""

import os
import resource
import shutil
import subprocess
from pathlib import Path

from tests.support.nginx import program
from tests.support.server import ROOT, STOP_PATIENCE

BASE = "docker.io/library/debian:12-slim"
IMAGE = "localhost/documents-api:latest"
HARDENED = ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"]
# No more than this machine's root may have, which is less than podman's default.
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
LIMITS = [f"--ulimit=nofile={FILES}:{FILES}", "--ulimit=nproc=4096:4096"]
# What pip and apt-get need on this machine.
PASSED_ON = {
    name: value
    for name, value in os.environ.items()
    if name.startswith("PIP_") or name.lower().endswith("_proxy")
}
TRUST = Path("/usr/local/share/ca-certificates")


class Podman:
    """An engine with images and containers of its own, in a folder."""

    def __init__(self, folder: Path) -> None:
        program("runc", "runc")
        self._folder = folder
        self._words = [program("podman", "podman"), "--runtime=runc", "--cgroup-manager=cgroupfs"]
        self._words += ["--events-backend=file", f"--tmpdir={folder / 'tmp'}"]
        self._words += [f"--root={folder / 'root'}", f"--runroot={folder / 'run'}"]

    def __call__(self, *words: str, status: int | None = 0, patience: float = 60) -> str:
        """Runs a command of podman; returns what it prints.

        Args:
            status: the exit status that it must have; None for any.
        """
        done = subprocess.run(
            [*self._words, *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=patience,
        )
        assert status is None or done.returncode == status, done.stdout[-5000:]
        return done.stdout

    def build(self) -> None:
        """Builds the image on a bare Debian that has this machine's trust."""
        debian = self._folder / "debian"
        debootstrap = program("debootstrap", "debootstrap")
        command = [debootstrap, "--variant=minbase", "bookworm", str(debian)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        assert done.returncode == 0, done.stdout[-2000:]
        if TRUST.is_dir():
            shutil.copytree(TRUST, debian / str(TRUST)[1:], dirs_exist_ok=True)
        archive = str(self._folder / "debian.tar")
        subprocess.run(["tar", "-C", str(debian), "-cf", archive, "."], check=True)
        changes = [f"--change=ENV {name}={value}" for name, value in PASSED_ON.items()]
        self("import", *changes, archive, BASE, patience=300)
        options = ("--isolation=chroot", "--network=host", "--format=docker", "--pull-never")
        file = str(ROOT / "deploy/Containerfile")
        self("build", *options, "-f", file, "-t", IMAGE, str(ROOT), patience=900)

    def remove(self) -> None:
        """Stops what runs, and deletes everything."""
        self("rm", "--all", "--force", "--time=0", status=None)
        self("rmi", "--all", "--force", status=None)
        shutil.rmtree(self._folder, ignore_errors=True)

    def words(self, variables: dict[str, str], *options: str) -> list[str]:
        """What starts a container in this machine's network, as restricted as compose.yaml's."""
        given = [f"--env={name}={value}" for name, value in variables.items()]
        network = ["--network=host", "--log-driver=k8s-file", "--tmpfs=/tmp"]
        return [*HARDENED, *LIMITS, *network, *given, *options, IMAGE]


class Container:
    """A container that runs for ever."""

    def __init__(
        self, podman: Podman, variables: dict[str, str], *words: str, options: tuple[str, ...] = ()
    ) -> None:
        self._podman = podman
        started = podman("run", "--detach", *podman.words(variables, *options), *words)
        self._id = started.strip().splitlines()[-1]

    def execute(self, *words: str, status: int | None = 0) -> str:
        """Runs a command inside."""
        return self._podman("exec", self._id, *words, status=status)

    def is_healthy(self) -> bool:
        """What the image's own health check says."""
        try:
            self._podman("healthcheck", "run", self._id)
        except AssertionError:
            return False
        return True

    def says_healthy(self, *words: str) -> bool:
        """What `deploy/entry healthy` says."""
        try:
            self.execute("deploy/entry", "healthy", *words)
        except AssertionError:
            return False
        return True

    def log(self) -> str:
        return self._podman("logs", self._id)

    def stop(self) -> int:
        """Asks it to stop; returns its exit status, 137 if it had to be killed."""
        self._podman("stop", f"--time={STOP_PATIENCE:.0f}", self._id)
        return int(self._podman("inspect", "--format={{.State.ExitCode}}", self._id))
