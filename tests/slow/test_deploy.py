"""The other files in deploy/: units, rotation of logs, containers; with the paths of the tests."""

import contextlib
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import yaml
from django.conf import settings

from audit.models import Action, AuditEntry, Checkpoint
from config import env
from config.runtime.ports import free_port
from events.webhooks.models import Process
from tests.config.test_checks import listens
from tests.support import factories, seals, server
from tests.support.factories import Tenant
from tests.support.nginx import Nginx, program
from tests.support.proxy import HOST
from tests.support.server import ROOT, STOP_PATIENCE, Server, eventually

DEPLOY = ROOT / "deploy"
UNITS = sorted((DEPLOY / "systemd").iterdir())
SERVICES = [unit for unit in UNITS if unit.suffix == ".service"]
ONESHOTS = [unit for unit in SERVICES if "Type=oneshot" in unit.read_text()]
MOST_EXPOSURE = 3.0  # of systemd's 10


def exec_start(unit: Path, logs: Path, instance: str = "") -> list[str]:
    """The words of the unit's command, as it stands but for the folders and the instance."""
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    for installed, here in {
        "/opt/documents-api/.venv/bin/python": sys.executable,
        "/var/log/documents-api": str(logs),
        "/var/lib/documents-api": str(logs),
        "%i": instance,
        "%%": "%",
        "$$": "$",
    }.items():
        line = line.replace(installed, here)
    return shlex.split(line)


def environment() -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": server.test_database_url()}


@contextlib.contextmanager
def running(
    command: list[str], variables: dict[str, str] | None = None, *, mixed: bool = False
) -> Iterator[None]:
    """A unit's command runs in its folder, in a process group, as in systemd's control group.

    At the end it is asked to stop, and all of its processes must end.

    Args:
        mixed: only the main process is asked (KillMode=mixed).
    """
    process = subprocess.Popen(
        command, cwd=ROOT, env={**environment(), **(variables or {})}, start_new_session=True
    )
    try:
        yield
    finally:
        (os.kill if mixed else os.killpg)(process.pid, signal.SIGTERM)
        assert process.wait(STOP_PATIENCE) == 0
    assert eventually(lambda: group_is_empty(process.pid))


def group_is_empty(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False


@pytest.fixture
def installed(tmp_path: Path) -> list[str]:
    """The units' paths, with programs that exist on this machine."""
    for unit in UNITS:
        text = unit.read_text().replace("/opt/documents-api/.venv/bin/python", sys.executable)
        text = text.replace("/opt/documents-api-storage", str(Path(sys.executable).parents[1]))
        (tmp_path / unit.name).write_text(text.replace("/opt/documents-api", str(ROOT)))
    # systemd-analyze wants an instance of a template.
    for template in tmp_path.glob("*@.service"):
        template.rename(tmp_path / template.name.replace("@", "@8001"))
    return [str(path) for path in sorted(tmp_path.iterdir())]


def test_units_are_valid(installed: list[str]) -> None:
    verified = subprocess.run(
        [program("systemd-analyze", "systemd"), "verify", "--man=no", *installed],
        capture_output=True,
        text=True,
    )
    ours = [line for line in verified.stderr.splitlines() if "documents-api" in line]
    assert (verified.returncode, ours) == (0, [])


@pytest.mark.parametrize("unit", SERVICES, ids=lambda unit: unit.name)
def test_units_are_hardened(unit: Path) -> None:
    done = subprocess.run(
        [
            program("systemd-analyze", "systemd"),
            "security",
            "--offline=true",
            "--no-pager",
            str(unit),
        ],
        capture_output=True,
        text=True,
    )
    (exposure,) = re.findall(r"Overall exposure level for \S+: ([\d.]+)", done.stdout)
    assert float(exposure) < MOST_EXPOSURE


def test_units_of_timers_exist() -> None:
    timers = {unit.stem for unit in UNITS if unit.suffix == ".timer"}
    assert timers == {unit.stem for unit in ONESHOTS}


@pytest.mark.parametrize("unit", ONESHOTS, ids=lambda unit: unit.stem)
def test_unit_s_command_succeeds(nginx: Nginx, acme: Tenant, unit: Path) -> None:
    document = factories.document(acme.workspace)
    response = nginx.get(f"/documents/{document.id}/download", acme.raw)
    rotated = nginx.rotate()
    assert eventually(lambda: response.headers["request-id"] in rotated.read_text())
    seals.seal()
    (nginx.logs / "checkpoints").write_text(Checkpoint.objects.latest("size").note)
    command = exec_start(unit, nginx.logs)
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**environment(), "AUDIT_PUBLIC_KEYS": seals.VARIABLES["AUDIT_PUBLIC_KEYS"]},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    ended = AuditEntry.objects.filter(action=Action.DOWNLOAD_ENDED).count()
    assert ended == (unit.stem == "documents-api-completions-rotated")


def test_unit_of_completions_records_them_and_ends_as_a_whole(nginx: Nginx, acme: Tenant) -> None:
    unit = DEPLOY / "systemd" / "documents-api-completions.service"
    with running(exec_start(unit, nginx.logs)):
        document = factories.document(acme.workspace)
        nginx.get(f"/documents/{document.id}/download", acme.raw)
        assert eventually(AuditEntry.objects.filter(action=Action.DOWNLOAD_ENDED).exists)


def test_unit_of_the_sealer_seals_until_it_is_stopped(
    acme: Tenant, server: Server, tmp_path: Path
) -> None:
    unit = DEPLOY / "systemd" / "documents-api-seal.service"
    witness = {"AUDIT_WITNESSES": f"file:{tmp_path / 'checkpoints'}"}
    with running(exec_start(unit, tmp_path), seals.VARIABLES | witness):
        assert eventually((tmp_path / "checkpoints").exists)
        assert Checkpoint.objects.latest("size").size == AuditEntry.objects.count()


def test_unit_of_the_webhooks_delivers_until_it_is_stopped(transactional_db: None) -> None:
    port = free_port()
    unit = DEPLOY / "systemd" / "documents-api-webhooks@.service"
    with running(exec_start(unit, Path(), str(port))):
        assert eventually(Process.objects.exists)
        served = httpx.get(f"http://{HOST}:{port}/metrics").text
        assert 'documents_webhooks_attempts_total{result="failed"} 0.0' in served


@pytest.mark.parametrize("variable", ["AUDIT_SIGNING_KEY", "DATABASE_SEALER_URL"])
def test_only_the_sealer_has_the_key_that_signs_and_its_role(variable: str) -> None:
    assert variable in (DEPLOY / "seal-env.example").read_text()
    having = {unit.stem for unit in SERVICES if "seal-env" in unit.read_text()}
    assert having == {"documents-api-seal"}
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    given = {name for name, each in services.items() if variable in each.get("environment", ())}
    assert given == {"seal"}


def test_unit_of_an_instance_serves_on_its_port(transactional_db: None) -> None:
    port = free_port()
    unit = DEPLOY / "systemd" / "documents-api@.service"
    with running(exec_start(unit, Path(), str(port)), {"HTTPS_ONLY": "no"}, mixed=True):
        assert eventually(lambda: listens(port))
        assert httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=60).status_code == 401


def test_logrotate_makes_nginx_write_a_new_file(nginx: Nginx, tmp_path: Path) -> None:
    text = (DEPLOY / "logrotate").read_text()
    for installed, here in {
        "/var/log/documents-api": str(nginx.logs),
        "/run/nginx.pid": str(nginx.logs.parent / "nginx.pid"),
        "create 0640 www-data documents-api": "create",
    }.items():
        assert installed in text
        text = text.replace(installed, here)
    configuration = tmp_path / "logrotate"
    configuration.write_text(text)
    configuration.chmod(0o644)
    first = nginx.get("/me").headers["request-id"]
    assert eventually(lambda: first in nginx.written())
    words = [program("logrotate", "logrotate"), "--force", "--state", str(tmp_path / "state")]
    subprocess.run([*words, str(configuration)], check=True)
    log = nginx.logs / "access.log"
    assert first in Path(f"{log}.1").read_text()

    def written_again() -> bool:
        return nginx.get("/me").headers["request-id"] in log.read_text()

    assert eventually(written_again)


def test_container_has_the_code_and_does_not_run_as_root() -> None:
    text = (DEPLOY / "Containerfile").read_text()
    copied = {
        word
        for line in re.findall(r"^COPY (.*)$", text, re.MULTILINE)
        for word in line.split()[:-1]
    }
    assert all((ROOT / name).exists() for name in copied)
    packages = {name.partition(".")[0] for name in settings.INSTALLED_APPS}
    ours = {name for name in packages if (ROOT / name).is_dir()}
    assert copied >= ours | {
        "manage.py",
        "templates",
        "examples",
        "docs/openapi.json",
        "deploy/build.sh",
    }
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["documents-api"]


def test_compose_file_has_read_only_containers_and_mounts_files_that_exist() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    for name, service in services.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges"], name
        # nginx's workers have a user of their own; the image of the application has one.
        assert name == "nginx" or "user" in service or service["image"] == "documents-api", name
    mounted = [volume.split(":")[0] for volume in services["nginx"]["volumes"]]
    files = [name for name in mounted if name.startswith("./") and name != "./tls"]
    assert all((DEPLOY / name).is_file() for name in files)
    included = re.findall(r"^ *include (.*);", (DEPLOY / "nginx.conf").read_text(), re.MULTILINE)
    assert {f"./{name}" for name in included} <= set(files)


def test_compose_file_has_variables_that_exist_and_the_owner_s_url_for_migrations_only() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    images = {name: each for name, each in services.items() if each["image"] == "documents-api"}
    for name, each in images.items():
        given = set(each["environment"])
        assert given <= set(env.VARIABLES), name
        assert {each.name for each in env.VARIABLES.values() if each.default is None} <= given, name
        assert ("DATABASE_OWNER_URL" in given) == (name == "prepare")
    (command,) = re.findall(r"^CMD (.*)$", (DEPLOY / "Containerfile").read_text(), re.MULTILINE)
    assert images["app-8001"]["command"] == json.loads(command)


def test_list_of_packages_is_that_of_the_requirements() -> None:
    script = [sys.executable, str(DEPLOY / "sbom.py")]
    printed = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    kept = (ROOT / "docs" / "sbom.json").read_text()
    assert kept == printed, "make sbom"
    pins = re.findall(r"^([\w.-]+)==([^ ]+)", (ROOT / "requirements.txt").read_text(), re.M)
    components = json.loads(kept)["components"]
    assert [(each["name"], each["version"]) for each in components] == pins
    assert all(len(hash["content"]) == 64 for each in components for hash in each["hashes"])
    assert all(each["hashes"] for each in components)
