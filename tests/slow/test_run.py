"""`make run`: each printed line works as printed, and nothing is left when it ends."""

import contextlib
import json
import os
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

from audit.sealing import laptop
from config.runtime.ports import free_port, usable_port
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
        assert self.process.stdout is not None
        while "Stop with Ctrl-C" not in self.printed:
            line = self.process.stdout.readline()
            assert line, self.printed
            self.printed += line

    def line_with(self, text: str) -> str:
        """The next printed line that has the text."""
        assert self.process.stdout is not None
        while text not in (line := self.process.stdout.readline()):
            assert line
        return line

    def companion(self, name: str) -> psutil.Process:
        """A process beside it; granian's worker, which comes later, has its command line too."""
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

    def status(self, workspace: str, path: str = "me") -> int:
        headers = {"Authorization": f"Bearer {self.key(workspace)}"}
        return httpx.get(f"{self.base}/api/v1/{path}", headers=headers).status_code

    def logins(self) -> list[tuple[str, str]]:
        """The printed logins with their passwords."""
        return re.findall(r"^  (\S+@\S+) +(\S+)", self.printed, re.MULTILINE)


def sign_in(browser: httpx.Client, login: str, password: str) -> httpx.Response:
    """The page that follows the form."""
    page = browser.get("/admin/login/?next=/admin/")
    token = browser.cookies["csrftoken"]
    form = {"username": login, "password": password, "csrfmiddlewaretoken": token}
    return browser.post(page.url, data=form, headers={"Referer": str(page.url)})


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as parent:
        yield Path(parent) / "data"
        assert all_gone(Path(parent)), using(Path(parent))


@pytest.fixture(scope="module")
def other_folder() -> Iterator[Path]:
    """Of runs that are refused."""
    with tempfile.TemporaryDirectory() as parent:
        yield Path(parent) / "data"


@pytest.fixture(scope="module")
def run(folder: Path) -> Iterator[Run]:
    running = Run(folder)
    yield running
    kill_group(running.process)


def test_run_prints_a_curl_line_that_works(run: Run) -> None:
    (line,) = re.findall(r"^ +(curl .*)$", run.printed, re.MULTILINE)
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["data"]) == 2
    assert f"Ready: {run.base}" in run.printed
    assert run.key("Acme") in shlex.split(line)[3]


def test_run_prints_dtd_lines_that_work(run: Run) -> None:
    lines = re.findall(r"^ +((?:export|dtd) .*)$", run.printed, re.MULTILINE)
    program = f'dtd() {{ {shlex.quote(sys.executable)} -m dtd "$@"; }}'
    script = "\n".join([program, *lines])
    done = subprocess.run(["sh", "-c", script], cwd=ROOT / "client", capture_output=True, text=True)
    assert (done.returncode, len(done.stdout.splitlines())) == (0, 3), done.stderr


def test_run_prints_a_key_for_each_state_of_api_access(run: Run) -> None:
    standing = {name: run.status(name) for name in ("Acme", "Umbrella", "Freebie", "Frozen")}
    assert standing == {"Acme": 200, "Umbrella": 200, "Freebie": 402, "Frozen": 403}


def test_run_counts_requests_in_its_own_process(run: Run) -> None:
    headers = {"Authorization": f"Bearer {run.key('Umbrella')}"}
    with httpx.Client(base_url=run.base, headers=headers) as client:
        left = [int(client.get("/api/v1/me").headers["X-RateLimit-Remaining"]) for _ in range(3)]
    assert left[1] - left[2] == 1 or left[0] - left[1] == 1  # a window may end in between


def test_run_prints_logins_that_open_the_admin(run: Run) -> None:
    assert re.findall(r"^Admin: (\S+)$", run.printed, re.MULTILINE) == [f"{run.base}/admin/"]
    assert run.logins()
    for login, password in run.logins():
        with httpx.Client(follow_redirects=True, base_url=run.base) as browser:
            page = sign_in(browser, login, password)
            staff = "sessionid" in browser.cookies
        assert (page.status_code, staff) == (200, not login.startswith("mem")), login


def test_run_prints_a_login_of_each_kind(run: Run) -> None:
    for kind in ("admin of Acme", "member of Acme", "support", "operator"):
        assert re.search(rf"^  \S+@\S+ +\S+ +{kind}$", run.printed, re.MULTILINE), kind
    assert "They need no second factor." in run.printed


def test_contributing_shows_a_line_that_makes_an_operator(run: Run, folder: Path) -> None:
    [line] = re.findall(r"^DATA_DIR=var (.+ createsuperuser .+)$", CONTRIBUTING, re.MULTILINE)
    words = shlex.split(line)
    assert words[0] == ".venv/bin/python"
    password = "a long enough passphrase"
    environment = {
        **bare_environment(folder),
        "DATA_DIR": str(folder),
        "DJANGO_SUPERUSER_PASSWORD": password,
    }
    # As printed, but that a test has no terminal to enter a password in.
    command = [sys.executable, *words[1:], "--noinput"]
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=60)
    with httpx.Client(follow_redirects=True, base_url=run.base) as browser:
        page = sign_in(browser, "you@example.com", password)
    assert (page.status_code, "Create a workspace" in page.text) == (200, True)


def test_run_seals_the_audit_log_and_another_shell_verifies_it(run: Run, folder: Path) -> None:
    witness = folder / "checkpoints"
    assert eventually(lambda: witness.exists() and witness.stat().st_size)  # it was written, too
    assert run.status("Acme", "documents?limit=1") == 200
    done = manage("verify_audit", "--checkpoint", witness, folder=folder)
    assert done.stdout.startswith("The audit log is intact"), done.stderr
    done = manage("seal_audit", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")


def test_run_gives_the_secret_key_to_the_sealer_only(run: Run, folder: Path) -> None:
    assert stat.S_IMODE((folder / "audit_key.json").stat().st_mode) == 0o600
    assert "AUDIT_SIGNING_KEY" in run.companion("seal_audit").environ()
    server = run.companion("-m granian")
    for other in (server, run.companion("deliver_webhooks"), run.companion("receive.py")):
        assert "AUDIT_SIGNING_KEY" not in other.environ()
    assert server.environ()["AUDIT_PUBLIC_KEYS"].startswith("laptop.example/audit+")


def test_run_prints_a_line_that_completes_a_document_which_then_arrives(
    run: Run, folder: Path
) -> None:
    assert "SECRET_KEY" not in run.companion("receive.py").environ()
    [line] = re.findall(r"^ +(env .* complete_document)$", run.printed, re.MULTILINE)
    done = subprocess.run(
        ["sh", "-c", line],
        cwd=ROOT,
        env=bare_environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    [id] = re.findall(r"\((\S{36})\)\n", done.stdout)
    assert run.line_with("document.completed ") == f"document.completed {id}\n"
    saved = Path(run.line_with("saved ").removeprefix("saved ").strip())
    assert saved.parent == folder / "received" / id
    assert saved.read_bytes() == (DATA / "agreement-5-signed.pdf").read_bytes()
    assert {stat.S_IMODE(path.stat().st_mode) for path in (saved, folder / "checkpoints")} == {
        0o600
    }


@pytest.mark.parametrize("name", ["seal_audit", "deliver_webhooks", "housekeeping", "receive.py"])
def test_run_serves_on_without_a_companion_and_says_so(run: Run, name: str) -> None:
    run.companion(name).kill()
    line = run.line_with("ended with status -9: it is missing until the next start.")
    assert name in line
    assert run.status("Acme") == 200


def test_variables_of_the_user_s_own_seals_win(tmp_path: Path) -> None:
    own = {"AUDIT_PUBLIC_KEYS": "own", "AUDIT_WITNESSES": "stdout"}
    environ = dict(own)
    laptop.provide(environ, tmp_path)
    assert environ == own
    assert list(tmp_path.iterdir()) == []


def make_run(folder: Path, *variables: str) -> subprocess.CompletedProcess[str]:
    """A run that is refused."""
    return subprocess.run(
        ["make", "--silent", "run", *variables],
        cwd=ROOT,
        env=bare_environment(folder),
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_run_on_a_port_that_is_taken_is_one_clear_line(run: Run, other_folder: Path) -> None:
    done = make_run(other_folder, f"PORT={run.port}")
    assert done.returncode != 0
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("make")]
    free = lines[0].rpartition("=")[2]
    assert lines == [
        f"CommandError: Port {run.port} cannot be used: Address already in use. "
        f"Choose another: make run PORT={free}"
    ]
    assert free != str(run.port)


def test_second_run_on_a_data_folder_is_one_clear_line_and_the_first_one_s_key_works_on(
    run: Run, folder: Path
) -> None:
    for port in (free_port(), run.port):
        done = make_run(folder, f"PORT={port}")
        assert done.returncode != 0
        assert done.stderr.startswith(
            f"Another process uses the data folder {folder}, perhaps make"
        )
    assert run.status("Acme") == 200


def test_run_on_a_port_that_is_none_is_one_clear_line(other_folder: Path) -> None:
    for port in ("0", "65536", "http", "٨٠٠٠"):
        with pytest.raises(ValueError, match="must be a number from 1 to 65535"):
            usable_port(HOST, port)
    done = make_run(other_folder, f"PORT={port}")
    assert done.returncode != 0
    said = "CommandError: The port must be a number from 1 to 65535. Choose another: make run PORT="
    assert done.stderr.startswith(said)


def test_run_with_a_python_that_is_too_old_is_one_clear_line(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.9.2 && exit 0\nexit 1\n')
    old.chmod(0o755)
    done = make_run(tmp_path / "data", f"PYTHON={old}", f"VENV={tmp_path / 'venv'}")
    assert done.returncode != 0
    assert done.stderr.splitlines()[0] == (
        f"Python 3.11 or newer is needed; {old} is Python 3.9.2. "
        "Choose another: make run PYTHON=python3.12"
    )
    assert not (tmp_path / "data").exists()


def test_run_shows_that_it_goes_on_while_it_creates_the_virtual_environment(tmp_path: Path) -> None:
    slow = tmp_path / "python3"
    slow.write_text('#!/bin/sh\n[ "$1" = -c ] && exit 0\nsleep 3.5; exit 1\n')
    slow.chmod(0o755)
    done = make_run(tmp_path / "data", f"PYTHON={slow}", f"VENV={tmp_path / 'venv'}")
    assert done.stdout.endswith("takes a minute or two ...\n")
    assert done.stderr.startswith(f"{slow} cannot create virtual environments")


@pytest.mark.parametrize("begun", ["secret_key", "postgres/cluster/unfinished", "lock"])
def test_ctrl_c_while_run_prepares_ends_it_with_one_sentence(begun: str) -> None:
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / "data"
        process = start(
            sys.executable, "-m", "config.dev", "run", folder=folder, PORT=str(free_port())
        )
        assert eventually((folder / begun).exists)
        os.killpg(process.pid, signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
        assert (process.returncode, printed) == (130, "\nStopped.\n")
        assert all_gone(folder), using(folder)


def test_manage_py_beside_a_run_uses_what_it_runs(run: Run, folder: Path) -> None:
    assert stat.S_IMODE((folder / "env").stat().st_mode) == 0o600
    done = manage("migrate", "--check", folder=folder)
    assert (done.returncode, done.stderr) == (0, "")


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


def interrupt(run: Run) -> None:
    """Ctrl-C reaches the terminal's whole foreground group."""
    psutil.Process(run.process.pid).send_signal(signal.SIGINT)
    for child in psutil.Process(run.process.pid).children():
        child.send_signal(signal.SIGINT)


def kill_make(run: Run) -> None:
    run.process.kill()


def kill_server(run: Run) -> None:
    for child in psutil.Process(run.process.pid).children():
        child.kill()


def kill_all(run: Run) -> None:
    for child in psutil.Process(run.process.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has ended with its parent
            child.kill()


def kill_granian(run: Run) -> None:
    run.companion("-m granian").kill()


@pytest.mark.parametrize("end", [interrupt, kill_make, kill_server, kill_granian, kill_all])
def test_run_leaves_no_process_and_intact_data_however_it_ends(
    run: Run, folder: Path, end: Callable[[Run], None]
) -> None:
    headers = {"Authorization": f"Bearer {run.key('Acme')}"}
    before = httpx.get(f"{run.base}/api/v1/documents?limit=100", headers=headers).content

    kept = run.printed
    end(run)
    assert all_gone(folder), using(folder)
    run.process.communicate()
    assert not (folder / "env").exists() or end in (kill_server, kill_all)

    run.__init__(folder)  # type: ignore[misc] # the other tests go on with the new one
    headers = {"Authorization": f"Bearer {run.key('Acme')}"}
    after = httpx.get(f"{run.base}/api/v1/documents?limit=100", headers=headers).content
    assert after == before
    assert run.key("Acme") in kept
    assert eventually(lambda: run.status("Acme") == 200)


def test_run_beside_one_that_is_just_stopping_is_one_sentence(run: Run, folder: Path) -> None:
    run.process.terminate()
    while True:  # until it serves
        beside = start(sys.executable, "-m", "config.dev", "run", folder=folder, PORT=str(run.port))
        assert beside.stdout is not None
        if (line := beside.stdout.readline()) == "\n":
            break
        assert re.match("(Another process uses|CommandError: Port .* cannot be used)", line)
        beside.communicate()
    kill_group(beside)
    run.process.communicate()
    assert all_gone(folder), using(folder)
    run.__init__(folder)  # type: ignore[misc] # the other tests go on with the new one


def reset(folder: Path, typed: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--silent", "reset"],
        cwd=ROOT,
        env=bare_environment(folder),
        input=typed,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_reset_refuses_data_in_use_and_deletes_only_after_a_yes(run: Run, folder: Path) -> None:
    done = reset(folder, "yes\n")
    assert f"{folder} is in use: stop make run first, with Ctrl-C." in done.stderr
    interrupt(run)
    run.process.communicate()
    assert all_gone(folder), using(folder)
    assert "Nothing was deleted." in reset(folder, "no\n").stderr
    assert (folder / "postgres").exists()
    done = reset(folder, "yes\n")
    assert (done.returncode, folder.exists()) == (0, False), done.stderr
    assert "has no data of make run" in reset(folder, "yes\n").stderr
