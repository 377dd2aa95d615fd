"""The other files in deploy/: units, rotation of logs, containers; with the paths of the tests."""

import contextlib
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from audit.models import AuditEntry, Checkpoint
from config import env
from config.ports import accepts_connections, free_port
from documents import storage
from tests.support import factories, seals, server, staff
from tests.support.deploy import DEPLOY, compose
from tests.support.factories import Tenant
from tests.support.nginx import program
from tests.support.proxy import HOST
from tests.support.receiver import delivers
from tests.support.server import PATIENCE, ROOT, STOP_PATIENCE, Server, eventually
from workspaces.models import Session

UNITS = sorted((DEPLOY / "systemd").glob("documents-api*"))
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
REST = ("pages", "worker", "housekeeping")  # that compose.yaml runs too
COMMON = (DEPLOY / "systemd" / "common.conf").read_text()
MOST_EXPOSURE = 3.0  # of systemd's 10


def exec_start(
    unit: Path, folder: Path | None = None, instance: str = "", name: str = "ExecStart"
) -> list[str]:
    """The words of the unit's command, as systemd would run it but for the folders."""
    (line,) = re.findall(rf"^{name}=((?:.*\\\n)*.*)$", unit.read_text(), re.MULTILINE)
    for installed, here in {
        "\\\n": "",
        ".venv/bin/": f"{Path(sys.executable).parent}/" if folder else ".venv/bin/",
        "/var/lib/documents-api": str(folder),
        "%i": instance,
        "$$": "$",
    }.items():
        line = line.replace(installed, here)
    return shlex.split(line)


def environment() -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": server.test_database_url()}


@contextlib.contextmanager
def running(
    command: list[str],
    variables: dict[str, str] | None = None,
    *,
    mixed: bool = False,
    status: int | None = 0,
) -> Iterator["subprocess.Popen[bytes]"]:
    """A unit's command runs in its folder, in a process group, as in systemd's control group.

    At the end it is asked to stop, and all of its processes must end.

    Args:
        mixed: only the main process is asked (KillMode=mixed).
        status: the exit status of the main process; None for any.
    """
    process = subprocess.Popen(
        command, cwd=ROOT, env={**environment(), **(variables or {})}, start_new_session=True
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            (os.kill if mixed else os.killpg)(process.pid, signal.SIGTERM)
        ended = process.wait(STOP_PATIENCE)
        assert status in (None, ended)
    assert eventually(lambda: group_is_empty(process.pid))


def group_is_empty(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


def analyze(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [program("systemd-analyze", "systemd"), *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_units_are_valid_and_hardened(tmp_path: Path) -> None:
    """With the drop-in that deploy/link gives each of them."""
    installed = []
    for unit in UNITS:
        # systemd-analyze wants an instance of a template.
        installed.append(tmp_path / unit.name.replace("@", "@8001"))
        text = f"{unit.read_text()}\n{COMMON if unit in SERVICES else ''}"
        installed[-1].write_text(text.replace("/opt/documents-api", str(ROOT)))
    verified = analyze("verify", "--man=no", *map(str, installed))
    ours = [line for line in verified.stderr.splitlines() if "documents-api" in line]
    assert (verified.returncode, ours) == (0, [])
    for file in installed:
        if file.suffix == ".service":
            found = analyze("security", "--offline=true", "--no-pager", str(file)).stdout
            (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", found)
            assert float(exposure) < MOST_EXPOSURE


def test_unit_of_each_night_finds_what_is_wrong_and_goes_on(
    server: Server, acme: Tenant, tmp_path: Path
) -> None:
    """That it finds nothing where nothing is wrong is seen in a drill."""
    document = factories.document(acme.workspace)
    storage.delete([document.original.object_key])
    seals.seal()
    variables = environment() | {"UPGRADE_URL": "https://www.example.com/plan"}
    variables |= {"AUDIT_PUBLIC_KEYS": seals.VARIABLES["AUDIT_PUBLIC_KEYS"]}
    command = exec_start(DEPLOY / "systemd" / "documents-api-nightly.service", tmp_path)
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"{tmp_path}/checkpoints cannot be read" in done.stderr
    assert document.original.object_key in done.stdout


def test_unit_starts_programs_of_the_folder_that_systemd_has_resolved() -> None:
    """Not of a path with the link in it, which an upgrade may move before Python starts."""
    for unit in SERVICES:
        assert exec_start(unit)[:2] == ["/bin/sh", "-c"]
        assert "/opt/documents-api" not in unit.read_text()


def seals_all() -> bool:
    sealed = Checkpoint.objects.order_by("size").last()
    return sealed is not None and sealed.size == AuditEntry.objects.count()


WORK: dict[str, Callable[[], object]] = {
    "housekeeping": lambda: not Session.objects.exists(),
    "seal": seals_all,
    "worker": delivers,
}


@pytest.mark.parametrize("name", WORK)
def test_units_that_do_not_serve_say_to_systemd_that_they_run_and_do_their_work(
    acme: Tenant, transactional_db: None, tmp_path: Path, name: str
) -> None:
    unit, port = DEPLOY / "systemd" / f"documents-api-{name}.service", free_port()
    variables = seals.VARIABLES | {"NOTIFY_SOCKET": str(tmp_path / "notify")}
    variables["AUDIT_WITNESSES"] = f"file:{tmp_path / 'checkpoints'}"
    staff.signed_in(acme.admin)
    Session.objects.update(expire_date=factories.at("2020-01-01 00:00:00"))
    [ended] = re.findall(r"^SuccessExitStatus=(\d+)", unit.read_text(), re.M) or [0]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(variables["NOTIFY_SOCKET"])
        notified.settimeout(PATIENCE)
        command = [word.replace("18101", str(port)) for word in exec_start(unit, tmp_path)]
        with running(command, variables, status=int(ended)):
            assert [notified.recv(100) for _ in range(2)] == [b"READY=1\nWATCHDOG=1"] * 2
            assert eventually(WORK[name])
            if name == "worker":
                served = httpx.get(f"http://{HOST}:{port}/metrics").text
                assert "documents_webhooks_overdue_seconds 0.0" in served
    assert (tmp_path / "checkpoints").exists() == (name == "seal")


@pytest.mark.parametrize("variable", ["AUDIT_SIGNING_KEY", "DATABASE_SEALER_URL"])
def test_only_the_sealer_has_the_key_that_signs_and_its_role(variable: str) -> None:
    assert variable not in (DEPLOY / "env.example").read_text()
    having = {unit.stem for unit in SERVICES if "seal-env" in unit.read_text()}
    assert having == {"documents-api-seal"}
    assert [name for name, each in compose().items() if variable in str(each)] == []


@pytest.mark.parametrize(
    ("name", "database"), [("documents-api@", "away"), ("documents-api-pages", "there")]
)
def test_units_that_serve_say_so_to_systemd_even_without_the_database(
    transactional_db: None, tmp_path: Path, name: str, database: str
) -> None:
    port = free_port()
    unit = DEPLOY / "systemd" / f"{name}.service"
    address = str(tmp_path / "notify")
    variables = {"HTTPS_ONLY": "no", "NOTIFY_SOCKET": address}
    if database == "away":
        variables["DATABASE_URL"] = "postgresql://documents:x@127.0.0.1:9/documents"
    before = exec_start(unit, tmp_path, name="ExecStartPre")
    subprocess.run(before, cwd=ROOT, env=environment() | variables, check=True)
    command = [word.replace("8100", str(port)) for word in exec_start(unit, tmp_path, str(port))]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind(address)
        notified.settimeout(PATIENCE)
        with running(command, variables, mixed=True):
            assert notified.recv(100) == b"READY=1\nWATCHDOG=1"
            assert eventually(lambda: accepts_connections(HOST, port))
            paths = ("/readyz", "/api/v1/me", "/admin/login/")
            found = [httpx.get(f"http://{HOST}:{port}{path}").status_code for path in paths]
            ready = 200 if database == "there" else 503
            assert found == ([ready, 404, 200] if "pages" in name else [ready, 401, 404])


def test_compose_file_pins_images_mounts_files_that_exist_and_opens_only_nginx() -> None:
    assert "\nUSER documents-api\n" in (DEPLOY / "Containerfile").read_text()
    for name, service in compose().items():
        assert re.search(r":\d+[.]\d+|^documents-api(-redis)?$", service["image"]), name
        mounted = [volume.split(":")[0] for volume in service.get("volumes", ())]
        files = [each for each in mounted if each not in ("./tls", "database")]
        assert all((DEPLOY / each).is_file() for each in files), name  # not the folder of .env
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges" in service["security_opt"], name
        assert service.get("read_only") or name == "postgres", name
        assert "network_mode" not in service, name
        assert ("ports" in service) == (name == "nginx")


def test_compose_file_runs_what_the_units_run_but_seals_and_checks() -> None:
    def words(command: str) -> list[str]:
        return re.sub(r"--host [\d.]+", "", command).split()

    commands = [words(str(each.get("command", ""))) for each in compose().values()]
    for name in ("documents-api@", *(f"documents-api-{each}" for each in REST)):
        command = " ".join(exec_start(DEPLOY / "systemd" / f"{name}.service", instance="8001"))
        command = command.replace(" --metrics-port 18101", "")
        for line in re.findall(r"(?:granian|python manage).*?(?=$| &)", command):
            assert words(line) in commands


def test_compose_file_has_variables_that_exist_and_the_owner_s_url_for_migrations_only() -> None:
    for name, each in compose().items():
        if each["image"] == "documents-api":
            others = {
                "GRANIAN_BLOCKING_THREADS",
                "GRANIAN_BLOCKING_THREADS_IDLE_TIMEOUT",
                "PGOPTIONS",
            }
            given = set(each["environment"]) - others
            assert given <= set(env.VARIABLES), name
            required = {each.name for each in env.VARIABLES.values() if each.default is None}
            assert required <= given, name
            url = each["environment"]["DATABASE_URL"]
            assert ("//documents_owner:" in url) == (name == "migrate")


def test_list_of_packages_is_that_of_the_requirements() -> None:
    script = [sys.executable, str(ROOT / "tools" / "sbom.py")]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    kept = (ROOT / "docs" / "sbom.json").read_text()
    assert kept == printed, "make sbom"
    pins = re.findall(r"^([\w.-]+)==([^ ]+)", (ROOT / "requirements.txt").read_text(), re.M)
    components = json.loads(kept)["components"]
    assert [(each["name"], each["version"]) for each in components if each["hashes"]] == pins
