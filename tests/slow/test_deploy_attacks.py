"""What other users of the machine try against deploy/: links, lists of processes, hosts."""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psutil
import pytest

from config.ports import accepts_connections, free_port
from tests.drill.__main__ import guide
from tests.support import nginx_files
from tests.support.deploy import DEPLOY, compose
from tests.support.nginx import program
from tests.support.proxy import HOST
from tests.support.redis_service import redis_program
from tests.support.server import eventually

BLOCKS = [block for _, block in guide()]
PROGRAMS = ("awk", "cat", "chmod", "cut", "grep", "mkdir", "mv", "openssl", "rm", "sed", "tee")
REDIS = Path(redis_program("redis-server")).parent
REFUSED = "NOAUTH Authentication required."


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users may enter; pytest's own is closed to them."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


def as_www_data(command: str) -> int:
    identity = ["setpriv", "--reuid", "www-data", "--regid", "www-data", "--clear-groups"]
    return subprocess.run([*identity, "sh", "-c", command], stderr=subprocess.DEVNULL).returncode


def run_link(folder: Path) -> Path:
    """Runs deploy/link for folders of the test; returns that of nginx's logs."""
    logs = folder / "nginx" / "logs"
    text = (DEPLOY / "link").read_text()
    for installed, here in {
        "/etc/logrotate.d": folder,
        "/etc/nginx": folder / "etc-nginx",
        "/etc/systemd/system": folder / "units",
        "/opt/documents-api/deploy": DEPLOY,
        "/var/log/documents-api": logs,
        "systemctl daemon-reload": "true",
    }.items():
        assert installed in text
        text = text.replace(installed, str(here))
    for name in ("etc-nginx", "units"):
        (folder / name).mkdir(exist_ok=True)
    subprocess.run(["sh", "-c", text], check=True)
    return logs


def rotate(logs: Path, folder: Path) -> None:
    """Runs logrotate with the file in deploy/, for other logs; its own files are in `folder`."""
    text = (DEPLOY / "logrotate").read_text()
    for installed, here in {
        "/var/log/documents-api": str(logs),
        "/run/nginx.pid": str(logs.parent / "nginx.pid"),
    }.items():
        assert installed in text
        text = text.replace(installed, here)
    configuration = folder / "logrotate"
    configuration.write_text(text)
    configuration.chmod(0o644)
    words = [program("logrotate", "logrotate"), "--force", "--state", str(folder / "state")]
    subprocess.run([*words, str(configuration)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="it gives files to nginx's user, as in CI")
def test_units_and_nginx_s_files_are_links_and_own_changes_stay(folder: Path) -> None:
    (folder / "nginx").mkdir()
    own = folder / "etc-nginx" / "upstreams.conf"
    own.parent.mkdir()
    own.write_text("# mine\n")
    gone = folder / "units" / "documents-api-former.service"
    gone.parent.mkdir()
    gone.symlink_to(folder / "nothing")
    drop_in = folder / "units" / "documents-api@.service.d" / "override.conf"
    drop_in.parent.mkdir()
    drop_in.write_text("# mine\n")
    for _ in range(2):
        logs = run_link(folder)
    assert {file.name for file in logs.iterdir()} == {"access.log", "error.log"}
    assert {file.stat().st_mode & 0o7 for file in logs.iterdir()} == {0}
    links = {each.name: each.resolve() for each in (folder / "units").iterdir() if each.is_file()}
    assert links == {each.name: each for each in (DEPLOY / "systemd").glob("documents-api*")}
    hourly = folder / "units" / "logrotate.timer.d" / "documents-api.conf"
    assert hourly.resolve() == DEPLOY / "systemd" / "hourly.conf"
    assert drop_in.read_text() == own.read_text() == "# mine\n"
    assert (folder / "etc-nginx" / "nginx.conf").resolve() == DEPLOY / "nginx.conf"


@pytest.mark.skipif(os.geteuid() != 0, reason="nginx's main process is root's, as in CI")
def test_nginx_s_user_cannot_make_root_write_elsewhere(folder: Path) -> None:
    program("nginx", "nginx-light")
    (folder / "nginx").mkdir()
    victim = folder / "victim"
    port, away = free_port(), "127.0.0.1:9"
    command = nginx_files.install(folder / "nginx", port, [9], away, pages=9, http_port=free_port())
    for each in (folder / "nginx", folder / "nginx" / "temp"):
        each.chmod(0o755)
    shutil.rmtree(folder / "nginx" / "logs")
    logs = run_link(folder)
    configuration = folder / "nginx" / "nginx.conf"
    text = configuration.read_text()
    assert "user root;" in text
    configuration.write_text(text.replace("user root;", "user www-data;"))
    process = subprocess.Popen(command, start_new_session=True)
    try:
        assert eventually(lambda: accepts_connections(HOST, port))
        log = logs / "access.log"
        assert as_www_data(f"mv {log} {logs}/x; ln -s {victim} {log}") != 0
        assert as_www_data(f"ln -s {victim} {logs}/access.log.new") != 0
        assert as_www_data(f"echo forged >{logs}/x") != 0

        def written() -> bool:
            subprocess.run([program("curl", "curl"), "-s", "-o", os.devnull, f"127.0.0.1:{port}/"])
            return log.stat().st_size > 0

        assert eventually(written)
        rotate(logs, folder)
        assert (logs / "access.log.1").exists()
        assert log.owner() == "www-data"
        assert eventually(written)
        assert not victim.exists()
    finally:
        process.terminate()
        process.wait()


def run_recorded(folder: Path, text: str, **replaced: str) -> str:
    """Runs a script in bash; returns the arguments of all programs that it has run.

    Args:
        replaced: programs by their names, and the shell's words that run instead of each.
    """
    shims, log = folder / "shims", folder / "arguments"
    shims.mkdir(exist_ok=True)
    for name in PROGRAMS:
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


def roles_without_psql(etc: Path, instead: str) -> str:
    """deploy/roles with these variables, and a command instead of psql."""
    text, psql, _ = (DEPLOY / "roles").read_text().partition("exec env -C /")
    assert psql
    return text.replace("/etc/documents-api", str(etc)) + instead


def prepare(folder: Path) -> str:
    """Copies deploy/ with stand-ins for what needs the service; returns install's functions."""
    shutil.copytree(DEPLOY, folder / "deploy")
    shim = "#!/bin/sh\nprintf '%s\\n' AUDIT_SIGNING_KEY=signing-key AUDIT_PUBLIC_KEYS=public\n"
    (folder / "deploy/manage").write_text(shim)
    (folder / "deploy/store").write_text('#!/bin/sh\n[ "$1" != rcat ] || exec cat\necho works\n')
    for name in ("build.sh", "restart", "install"):
        (folder / "deploy" / name).write_text("#!/bin/sh\n")
    (folder / "deploy/roles").write_text(roles_without_psql(folder / "etc", ":"))
    (folder / "etc").mkdir()
    values = (DEPLOY / "env.example").read_text().replace("=CHANGE-ME\n", "=value\n")
    (folder / "etc/env").write_text(values.replace("https://CHANGE-ME", "https://s3.example.com"))
    (folder / "etc/seal-env").write_text("AUDIT_WITNESS_ACCESS_KEY_ID=witness\n")
    functions = (DEPLOY / "install").read_text().partition('\nparse "$@"')[0]
    return functions.replace("/etc/documents-api", f"{folder}/etc").replace(
        "(dirname", "(/usr/bin/dirname"
    )


SOCKETS = {
    "DATABASE_URL": "postgresql://documents:x@%2Frun%2Fpostgresql/documents",
    "REDIS_URL": "unix://:x@/run/redis/redis-server.sock?db=0",
}
ELSEWHERE = {
    "DATABASE_URL": "'postgresql://d:x@10.0.0.1/d?a=b&c=d'",
    "REDIS_URL": "redis://:x@h:1/0",
}


def write_urls(file: Path, urls: dict[str, str]) -> None:
    file.write_text("".join(f"{name}={url}\n" for name, url in urls.items()))


def test_installer_installs_only_the_database_and_redis_that_the_urls_find_here(
    folder: Path,
) -> None:
    text = f"{prepare(folder)}\npackages"
    for urls, here in (
        (SOCKETS, "rclone postgresql redis-server"),
        ({name: f'"{url}"' for name, url in SOCKETS.items()}, "rclone postgresql redis-server"),
        (SOCKETS | {"REDIS_URL": ELSEWHERE["REDIS_URL"]}, "rclone postgresql"),
        (ELSEWHERE, "rclone"),
    ):
        write_urls(folder / "etc/env", urls)
        programs = {"dpkg": "/bin/true", "apt_get": "/bin/true"}
        assert run_recorded(folder, text, **programs).endswith(f" python3-venv {here}\n")
    (folder / "deploy/roles").write_text("#!/bin/sh\nexit 1\n")
    assert "systemctl" not in run_recorded(folder, text.replace("\npackages", "\ndatabase"))


def secrets_in(folder: Path) -> set[str]:
    """The passwords and keys in the variables' files."""
    texts = "".join(file.read_text() for file in (folder / "etc").iterdir())
    return set(re.findall(r"[0-9a-f]{64}|signing-key", texts))


def test_installer_and_guide_pass_no_secret_as_an_argument(folder: Path) -> None:
    functions = prepare(folder)
    arguments = run_recorded(folder, f"{functions}\nhost=api.example.com; variables; sealing")
    secrets = secrets_in(folder)
    assert len(secrets) == 6  # three roles, Redis, SECRET_KEY, the key that signs
    for block in BLOCKS:
        if "sed -i" in block:
            block = block.replace("/etc/documents-api", f"{folder}/etc")
            block = re.sub(r"cd \"?/opt/documents-api.*", ":", block)
            block = block.replace("/opt/documents-api/deploy", "deploy")
            shims = {"systemctl": "/bin/true", "runuser": "/bin/true", "date": "/bin/date"}
            arguments += run_recorded(folder, block, **shims)
            secrets |= secrets_in(folder)
    assert len(secrets) > 8
    assert [secret for secret in secrets if secret in arguments] == []
    assert "openssl rand -hex 32" in arguments


def variables(folder: Path, functions: str) -> "subprocess.CompletedProcess[str]":
    """What the installer says of the variables' files."""
    bash = ["/bin/bash", "-euo", "pipefail", "-c", f"{functions}\nvariables"]
    return subprocess.run(bash, cwd=folder, capture_output=True, text=True)


NOT_PLAIN = ["s3cret&x=1", "s3cret$x", "s3cret `x`", '"s3cret$x"', "s3cret # x", "it's", "s3cret\r"]


def test_installer_refuses_values_that_systemd_and_a_shell_read_differently(folder: Path) -> None:
    functions = prepare(folder)
    file = folder / "etc/env"
    text = file.read_text()
    for value in ["plain/+=", "'s3cret&$x \"`#'", '"A name <a@example.com>"', "", *NOT_PLAIN]:
        file.write_text(f"{text}\nDEFAULT_FROM_EMAIL={value}\n")
        done = variables(folder, functions)
        assert (done.returncode == 0) == (value not in NOT_PLAIN), (value, done)
        said = "env: DEFAULT_FROM_EMAIL needs a plain value" in done.stdout
        assert said == (value in NOT_PLAIN)
        assert "s3cret" not in done.stdout + done.stderr


def test_installer_stops_at_values_that_nobody_has_written(folder: Path) -> None:
    functions = prepare(folder)
    half = "EMAIL_URL=smtps://me:secret-of-mail@CHANGE-ME\n"
    (folder / "etc/env").write_text((DEPLOY / "env.example").read_text() + half)
    done = variables(folder, functions)
    assert done.returncode == 1
    assert f"{folder}/etc/env: EMAIL_URL has CHANGE-ME" in done.stdout
    assert "secret-of-mail" not in done.stdout + done.stderr
    text = (folder / "etc/env").read_text()
    assert "CHANGE-ME-RANDOM" not in text.partition("SECRET_KEY=")[2]
    assert "S3_BUCKET" in text


def test_roles_get_the_passwords_that_urls_have_encoded(folder: Path) -> None:
    password = "p@:/%40 ü\\x41\"'$"
    (folder / "env").write_text(
        f"DATABASE_URL='postgres://documents:{quote(password, safe='')}@h,h/d?a=b@c'\n"
    )
    (folder / "owner-env").write_text("DATABASE_OWNER_URL=postgresql://documents_owner@h:1/d\n")
    (folder / "runuser").write_text(
        '#!/bin/sh\nprintf "%s|" "$SERVING_PASSWORD" "$OWNER_PASSWORD"\n'
    )
    (folder / "runuser").chmod(0o755)
    script = (DEPLOY / "roles").read_text().replace("/etc/documents-api", str(folder))
    script = script.replace('$(dirname "$0")', str(DEPLOY))
    environment = {"PATH": f"{folder}:{os.environ['PATH']}"}
    done = subprocess.run(
        ["/bin/bash", "-c", script], env=environment, capture_output=True, check=True
    )
    assert done.stdout.decode() == f"{password}||"


def ping(port: int, **variables: str) -> str:
    """What Redis says to a client."""
    words = [str(REDIS / "redis-cli"), "-p", str(port), "ping"]
    return subprocess.run(words, env=variables, capture_output=True, text=True).stdout.strip()


def test_installer_gives_redis_the_password_of_its_url(folder: Path) -> None:
    functions = prepare(folder)
    (folder / "etc/env").write_text("REDIS_URL=unix://:secret-of-redis@/run/redis/s?db=0\n")
    port, configuration = free_port(), folder / "redis.conf"
    configuration.write_text(f"bind 127.0.0.1\nport {port}\ndir {folder}\n")
    for _ in range(2):  # the password is kept
        server = subprocess.Popen([REDIS / "redis-server", configuration])
        try:
            cli = f"{REDIS}/redis-cli -p {port}"
            text = f"{functions}\nredis_password"
            arguments = run_recorded(folder, text, redis_cli=cli, sleep="/bin/sleep")
            assert ping(port) == REFUSED
        finally:
            server.terminate()
            server.wait()
    assert "secret-of-redis" not in arguments
    assert "REDIS_URL=unix://:CHANGE-ME-RANDOM@/run/redis/" in (DEPLOY / "env.example").read_text()


def test_redis_of_compose_has_a_password_that_is_no_argument_and_stops(folder: Path) -> None:
    service = compose()["redis"]
    port = free_port()
    [place] = service["tmpfs"]
    words = [word.replace("$$", "$").replace(place, str(folder)) for word in service["command"]]
    words[-1] = f"{words[-1]} --port {port}"
    variables = {"PATH": f"{REDIS}:{os.environ['PATH']}", "REDISCLI_AUTH": "secret-of-redis"}
    process = subprocess.Popen(words, env=variables, start_new_session=True)
    try:
        assert eventually(lambda: accepts_connections(HOST, port))
        assert (ping(port), ping(port, **variables)) == (REFUSED, "PONG")
        tree = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        assert [each for each in tree if "secret-of-redis" in " ".join(each.cmdline())] == []
        assert (folder / "redis.conf").stat().st_mode & 0o077 == 0
        process.terminate()
        assert process.wait(5) == 0  # the container's first process is Redis
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    assert "${REDIS_PASSWORD:?}" in str(service["environment"])


@pytest.mark.skipif(os.geteuid() != 0, reason="it gives folders to another user, as in CI")
def test_backup_writes_only_into_a_folder_of_root_s(folder: Path) -> None:
    (folder / "env").touch()
    text = (DEPLOY / "backup").read_text().replace("/etc/documents-api", str(folder))
    (folder / "backup").write_text(text)
    victim = folder / "victim"

    def backup(place: Path) -> str:
        words = ["sh", str(folder / "backup"), str(place)]
        return subprocess.run(words, capture_output=True, text=True).stderr

    for name, mode, owner in (("theirs", 0o755, 33), ("shared", 0o777, 0), ("group", 0o770, 0)):
        place = folder / name
        place.mkdir()
        os.chown(place, owner, -1)
        place.chmod(mode)
        (place / "database.new").symlink_to(victim)
        assert "must be root's" in backup(place)
        (folder / "link").symlink_to(place)
        assert "must be root's" in backup(folder / "link")
        (folder / "link").unlink()
    assert not victim.exists()
    assert "must be root's" not in backup(folder / "own")  # it is made


def test_upgrade_refuses_a_tar_with_another_checksum(folder: Path) -> None:
    tar = folder / "documents-api.tar"
    tar.write_bytes(b"not the release")
    link = folder / "documents-api"
    (folder / "one").mkdir()
    link.symlink_to("one")
    text = (DEPLOY / "upgrade").read_text().replace("/opt/documents-api", str(link))
    command = folder / "upgrade"
    command.write_text(text.replace("/run/documents-api-upgrade", f"{folder}/lock"))
    command.chmod(0o755)

    def upgrade(*words: str) -> str:
        done = subprocess.run([command, *words], capture_output=True, text=True)
        assert done.returncode == 1
        return done.stderr

    right = hashlib.sha256(tar.read_bytes()).hexdigest()
    assert "is not the file whose SHA-256 is" in upgrade(str(tar), "0" * 64, "--no-backup")
    assert "is not a release's tar" in upgrade(str(tar), right, "--no-backup")
    assert "Usage: " in upgrade(str(tar), right)
    assert "Nothing to go back to" in upgrade("--back")


def test_upgrade_changes_roles_only_on_the_machine_of_the_database(folder: Path) -> None:
    link, log, variables = folder / "documents-api", folder / "log", folder / "env"
    text = (DEPLOY / "upgrade").read_text().replace("/opt/documents-api", str(link))
    (folder / "owner-env").write_text("DATABASE_OWNER_URL=postgresql://documents_owner@h:1/d\n")
    deploy = folder / "release" / "deploy"
    deploy.mkdir(parents=True)
    programs = ("build.sh", "link", "manage", "nginx", "restart", "systemctl")
    for name in programs:
        (deploy / name).write_text(f'#!/bin/sh\necho "${{0##*/}} $1" >>{log}\n')
    (deploy / "upgrade").write_text(text.replace("/run/documents-api-upgrade", f"{folder}/lock"))
    (deploy / "roles").write_text(roles_without_psql(folder, f"echo roles >>{log}\n"))
    for name in (*programs, "roles", "upgrade"):
        (deploy / name).chmod(0o755)
    tar = folder / "documents-api.tar"
    subprocess.run(["tar", "-cf", tar, "-C", folder / "release", "deploy"], check=True)
    (folder / "one").mkdir()
    link.symlink_to("one")
    checksum = hashlib.sha256(tar.read_bytes()).hexdigest()
    words = [str(deploy / "upgrade"), str(tar), checksum, "--no-backup"]
    for urls, roles in ((SOCKETS, ["roles"]), (ELSEWHERE, [])):
        write_urls(variables, urls)
        path = {"PATH": f"{deploy}:{os.environ['PATH']}"}
        done = subprocess.run(words, env=path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        steps = ["manage check", "nginx -t", *roles, "manage migrate", "link ", "nginx -t"]
        steps += ["systemctl reload", "restart ", "manage check"]
        assert log.read_text().splitlines() == ["build.sh ", *steps]
        assert ("PostgreSQL is elsewhere" in done.stdout) == (not roles)
        log.unlink()
