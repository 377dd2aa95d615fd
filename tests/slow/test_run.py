"""`make run`: each printed line works as printed, and nothing is left when it ends."""

import contextlib
import json
import re
import shlex
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import psutil
import pytest

from config.ports import free_port
from documents.demo import DATA
from tests.support.processes import all_gone, bare_environment, kill_group, manage, start, using
from tests.support.proxy import HOST
from tests.support.server import ROOT, eventually

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()


class Run:
    """One `make run` on a data folder, ready when this returns."""

    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self.base = f"http://127.0.0.1:{self.port}"
        self.process = start("make", "run", folder=folder, PORT=str(self.port))
        self.printed = ""
        while "Stop with Ctrl-C" not in self.printed:
            self.printed += self.line_with("")

    def line_with(self, text: str) -> str:
        """The next printed line that has the text."""
        assert self.process.stdout is not None
        while text not in (line := self.process.stdout.readline()) or not line:
            assert line, self.printed
        return line

    def child(self, name: str) -> psutil.Process:
        """A process of it; granian's worker, which comes later, has its command line too."""
        found, *_ = [
            child
            for child in psutil.Process(self.process.pid).children(recursive=True)
            if name in " ".join(child.cmdline())
        ]
        return found

    def key(self, workspace: str) -> str:
        """The key printed for a workspace."""
        (key,) = re.findall(rf"^Key for {workspace}: (dtd_\S+)$", self.printed, re.MULTILINE)
        return str(key)

    def get(self, workspace: str, path: str = "me") -> httpx.Response:
        headers = {"Authorization": f"Bearer {self.key(workspace)}"}
        return httpx.get(f"{self.base}/api/v1/{path}", headers=headers)


def sign_in(run: Run, login: str, password: str) -> tuple[httpx.Response, bool]:
    """The page that follows the form, and whether the user has a session."""
    with httpx.Client(follow_redirects=True, base_url=run.base) as browser:
        page = browser.get("/admin/login/?next=/admin/")
        token = browser.cookies["csrftoken"]
        form = {"username": login, "password": password, "csrfmiddlewaretoken": token}
        page = browser.post(page.url, data=form, headers={"Referer": str(page.url)})
        return page, "sessionid" in browser.cookies


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as parent:
        yield Path(parent) / "data"
        assert all_gone(Path(parent)), using(Path(parent))


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Run]:
    running = Run(folder)
    yield running
    kill_group(running.process)


def test_run_prints_logins_of_each_kind_that_open_the_admin(run: Run) -> None:
    assert f"\nAdmin: {run.base}/admin/\n" in run.printed
    logins = re.findall(r"^  (\S+@\S+) +(\S+)  +(.+)$", run.printed, re.MULTILINE)
    assert {"admin of Acme", "member of Acme", "support", "operator"} <= {it[2] for it in logins}
    for login, password, _ in logins:
        page, signed_in = sign_in(run, login, password)
        assert (page.status_code, signed_in) == (200, True), login
        assert "No process" not in page.text  # already, though it has just started


def test_run_prints_a_curl_line_that_works(run: Run) -> None:
    assert f"Ready: {run.base}" in run.printed
    (line,) = re.findall(r"^ +(curl .*)$", run.printed, re.MULTILINE)
    assert run.key("Acme") in line
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert len(json.loads(done.stdout)["data"]) == 2, done.stderr


def test_run_prints_a_key_for_each_state_of_api_access_and_counts_requests(run: Run) -> None:
    access = {name: run.get(name).status_code for name in ("Acme", "Freebie", "Frozen")}
    assert access == {"Acme": 200, "Freebie": 402, "Frozen": 403}
    left = [int(run.get("Umbrella").headers["X-RateLimit-Remaining"]) for _ in range(3)]
    assert left[1] - left[2] == 1 or left[0] - left[1] == 1  # a window may end in between


def test_manage_py_beside_a_run_uses_what_it_runs(run: Run, folder: Path) -> None:
    """As CONTRIBUTING.md shows, but that a test has no terminal to enter a password in."""
    assert stat.S_IMODE((folder / "env").stat().st_mode) == 0o600
    [line] = re.findall(r"^DATA_DIR=var (.+ createsuperuser .+)$", CONTRIBUTING, re.MULTILINE)
    password = "a long enough passphrase"
    environment = {**bare_environment(folder), "DJANGO_SUPERUSER_PASSWORD": password}
    command = [sys.executable, *shlex.split(line)[1:], "--noinput"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=60)
    page, _ = sign_in(run, "you@example.com", password)
    assert "Create a workspace" in page.text


def test_run_seals_the_audit_log_and_another_shell_verifies_it(run: Run, folder: Path) -> None:
    witness = folder / "checkpoints"
    assert eventually(lambda: witness.exists() and witness.stat().st_size)  # it was written, too
    done = manage("verify_audit", "--checkpoint", witness, folder=folder)
    assert done.stdout.startswith("The audit log is intact"), done.stderr


def test_run_prints_a_line_that_completes_a_document_which_then_arrives(
    run: Run, folder: Path
) -> None:
    [line] = re.findall(r"^ +(env .* complete_document)$", run.printed, re.MULTILINE)
    environment = bare_environment(folder)
    done = subprocess.run(
        ["sh", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    [id] = re.findall(r"\((\S{36})\)\n", done.stdout)
    assert run.line_with("document.completed ") == f"document.completed {id}\n"
    saved = Path(run.line_with("saved ").removeprefix("saved ").strip())
    assert saved.parent == folder / "received" / id
    assert saved.read_bytes() == (DATA / "agreement-5-signed.pdf").read_bytes()
    assert stat.S_IMODE(saved.stat().st_mode) == 0o600


def test_runserver_with_debug_serves_beside_a_run_and_reloads_what_changes(
    run: Run, folder: Path
) -> None:
    port = free_port()
    process = start(sys.executable, "manage.py", "runserver", str(port), folder=folder, DEBUG="yes")
    base, headers = f"http://{HOST}:{port}", {"Authorization": f"Bearer {run.key('Acme')}"}

    def serves() -> bool:
        with contextlib.suppress(httpx.TransportError):
            return httpx.get(f"{base}/api/v1/me", headers=headers).status_code == 200
        return False

    try:
        assert eventually(serves)
        page = httpx.get(f"{base}/admin/login/")
        [style] = re.findall(r'href="(/static/config/design\S*\.css)"', page.text)
        assert httpx.get(f"{base}{style}").status_code == 200
        assert process.stdout is not None
        changed = ROOT / "config/urls.py"
        changed.touch()
        while f"{changed} changed, reloading." not in (line := process.stdout.readline()):
            assert line
        assert eventually(serves)
    finally:
        kill_group(process)


def make(goal: str, folder: Path, *variables: str, typed: str = "") -> tuple[int, str, str]:
    """The status, the output and the first line of the errors of a command that ends."""
    done = subprocess.run(
        ["make", "--silent", goal, *variables],
        cwd=ROOT,
        env=bare_environment(folder),
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return done.returncode, done.stdout, done.stderr.partition("\n")[0]


def test_run_that_cannot_start_says_why_in_one_line(run: Run, folder: Path) -> None:
    with tempfile.TemporaryDirectory() as other:
        status, printed, error = make("run", Path(other), f"PORT={run.port}")
        assert (status, printed) == (2, "")
        begins = f"CommandError: Port {run.port} cannot be used: Address already in use. Choose"
        assert re.fullmatch(rf"{begins} another: make run PORT=\d+", error)
    status, _, error = make("run", folder, f"PORT={free_port()}")
    begins = f"The data folder {folder} cannot be used: another process uses it, perhaps make run"
    assert (status, error.partition(",")[0]) == (2, begins.partition(",")[0])
    assert run.get("Acme").status_code == 200


@pytest.mark.parametrize("name", ["deliver_webhooks", "rclone"])
def test_run_names_a_program_that_has_ended_and_serves_on(run: Run, name: str) -> None:
    run.child(name).kill()
    line = run.line_with("ended with status -9: it is missing until the next start.")
    assert line.startswith({"rclone": "s3"}.get(name, name))
    assert run.get("Acme").status_code == 200


def kill_make(run: Run) -> None:
    run.process.kill()


def kill_all(run: Run) -> None:
    for child in psutil.Process(run.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended with its parent
            child.kill()


@pytest.mark.parametrize("end", [kill_make, kill_all])
def test_run_leaves_no_process_and_intact_data_however_it_ends(
    run: Run, folder: Path, end: Callable[[Run], None]
) -> None:
    key, before = run.key("Acme"), run.get("Acme", "documents?limit=100").content
    end(run)
    assert all_gone(folder), using(folder)
    run.process.communicate()
    assert not (folder / "env").exists() or end is kill_all

    run.__init__(folder)  # type: ignore[misc] # the other tests go on with the new one
    assert run.key("Acme") == key
    assert run.get("Acme", "documents?limit=100").content == before


def interrupt(run: Run) -> None:
    """Ctrl-C reaches the terminal's whole foreground group."""
    psutil.Process(run.process.pid).send_signal(signal.SIGINT)
    for child in psutil.Process(run.process.pid).children():
        child.send_signal(signal.SIGINT)


def test_reset_refuses_data_in_use_and_deletes_only_after_a_yes(run: Run, folder: Path) -> None:
    _, _, error = make("reset", folder, typed="yes\n")
    assert error == f"{folder} is in use: stop make run first, with Ctrl-C."
    interrupt(run)
    assert run.process.communicate()[0] == "\nStopping …\n"
    assert all_gone(folder), using(folder)
    assert not (folder / "env").exists()
    assert make("reset", folder, typed="no\n")[2] == "Nothing was deleted."
    assert (folder / "postgres").exists()
    assert make("reset", folder, typed="yes\n")[0] == 0
    assert not folder.exists()
    assert "has no data of make run" in make("reset", folder, typed="yes\n")[2]
