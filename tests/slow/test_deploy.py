"""The other files in deploy/: units, rotation of logs, containers; with the paths of the tests."""

import contextlib
import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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
        ".venv/bin/python": sys.executable,
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
        text = unit.read_text()
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
    services = compose()
    given = {name for name, each in services.items() if variable in each.get("environment", ())}
    assert given == {"seal"}


def test_unit_of_an_instance_serves_on_its_port(transactional_db: None) -> None:
    port = free_port()
    unit = DEPLOY / "systemd" / "documents-api@.service"
    with running(exec_start(unit, Path(), str(port)), {"HTTPS_ONLY": "no"}, mixed=True):
        assert eventually(lambda: listens(port))
        assert httpx.get(f"http://{HOST}:{port}/api/v1/me", timeout=60).status_code == 401


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two releases whose programs print their environment, and wait."""
    folder = tmp_path_factory.mktemp("releases")
    text = "import sys, time\nprint(sys.prefix, flush=True)\ntime.sleep(60)\n"
    for name in ("one", "two"):
        (folder / name / "config").mkdir(parents=True)
        (folder / name / "manage.py").write_text(text)
        (folder / name / "config" / "server.py").write_text(text)
        venv = [sys.executable, "-m", "venv", "--without-pip", str(folder / name / ".venv")]
        subprocess.run(venv, check=True)
    return folder


@pytest.mark.parametrize(
    "unit", [each for each in SERVICES if "storage" not in each.stem], ids=lambda unit: unit.stem
)
def test_unit_runs_the_packages_of_the_release_in_whose_folder_it_started(
    releases: Path, tmp_path: Path, unit: Path
) -> None:
    """systemd resolves WorkingDirectory, a link; an upgrade may move it before Python starts."""
    link = tmp_path / "documents-api"
    link.symlink_to(releases / "one")
    (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    line = line.replace("/opt/documents-api/", f"{link}/").replace("%i", "8001")

    def move() -> None:  # when the process is in the folder
        link.unlink()
        link.symlink_to(releases / "two")

    process = subprocess.Popen(
        shlex.split(line.replace("%%", "%").replace("$$", "$")),
        cwd=link,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=move,
    )
    assert process.stdout
    with process.stdout:
        assert process.stdout.readline().strip() == str(releases / "one" / ".venv")
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def rotate(logs: Path, folder: Path, create: str) -> None:
    """Runs logrotate with the file in deploy/, for other logs; its own files are in `folder`."""
    text = (DEPLOY / "logrotate").read_text()
    for installed, here in {
        "/var/log/documents-api": str(logs),
        "/run/nginx.pid": str(logs.parent / "nginx.pid"),
        "create 0640 www-data documents-api": create,
    }.items():
        assert installed in text
        text = text.replace(installed, here)
    configuration = folder / "logrotate"
    configuration.write_text(text)
    configuration.chmod(0o644)
    words = [program("logrotate", "logrotate"), "--force", "--state", str(folder / "state")]
    subprocess.run([*words, str(configuration)], check=True)


def test_logrotate_makes_nginx_write_a_new_file(nginx: Nginx, tmp_path: Path) -> None:
    first = nginx.get("/me").headers["request-id"]
    assert eventually(lambda: first in nginx.written())
    rotate(nginx.logs, tmp_path, "create")
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
        "deploy/entry",
    }
    assert re.findall(r"^USER (.*)$", text, re.MULTILINE) == ["documents-api"]


def compose() -> dict[str, Any]:
    services: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    return services


def test_compose_file_has_read_only_containers_and_mounts_files_that_exist() -> None:
    services = compose()
    for name, service in services.items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges"], name
        # nginx's workers have a user of their own; the image of the application has one.
        assert name == "nginx" or "user" in service or "build" in service, name
    mounted = [volume.split(":")[0] for volume in services["nginx"]["volumes"]]
    files = [name for name in mounted if name.startswith("./") and name != "./tls"]
    assert all((DEPLOY / name).is_file() for name in files)
    included = re.findall(r"^ *include (.*);", (DEPLOY / "nginx.conf").read_text(), re.MULTILINE)
    assert {f"./{name}" for name in included} <= set(files)


def test_compose_file_pins_images_checks_health_and_limits_logs() -> None:
    services = compose()
    for name, service in services.items():
        image = service["image"]
        # `RELEASE` is the release of the application's own image.
        assert re.search(r":(RELEASE\.)?\d+[.-]\d+", image) or "${RELEASE" in image, name
        assert service["logging"]["options"].keys() == {"max-size", "max-file"}, name
        ends = service["restart"] == "on-failure"
        assert service["healthcheck"].get("disable", False) is ends, name
        conditions = [each["condition"] for each in service.get("depends_on", {}).values()]
        assert "service_started" not in conditions, name
    assert {services["postgres"]["image"], services["roles"]["image"]} == {"postgres:15.18"}


def test_compose_file_has_all_that_the_units_run() -> None:
    commands = [" ".join(map(str, each.get("command", ()))) for each in compose().values()]
    for unit in SERVICES:
        (line,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
        word = (re.findall(r"manage\.py (\w+)", line) or ["serve"])[0]
        word = {
            "deliver_webhooks": "deliver",
            "seal_audit": "seal",
            "record_download_completions": "rotated" if "zcat" in line else "completions",
        }.get(word, word)
        assert any(word in command.split() for command in commands), unit.name


def test_compose_file_reads_the_variables_of_its_example() -> None:
    read = set(re.findall(r"\$\{(\w+)", (DEPLOY / "compose.yaml").read_text()))
    example = (DEPLOY / "compose.env.example").read_text()
    assert read == set(re.findall(r"^#?([A-Z0-9_]+)=", example, re.MULTILINE))


def test_metrics_of_compose_are_for_this_machine_only() -> None:
    services = compose()
    ports = {
        command[command.index("--metrics-port") + 1]
        for command in (each.get("command", []) for each in services.values())
        if "--metrics-port" in command
    }
    published = set(services["nginx"]["ports"])
    assert published == {"80:80", "443:443"} | {f"127.0.0.1:{port}:{port}" for port in ports}
    assert services["app-8001"]["environment"]["METRICS_HOST"] == "0.0.0.0"


def test_rotation_of_compose_makes_nginx_write_a_new_file(nginx: Nginx) -> None:
    first = nginx.get("/me").headers["request-id"]
    assert eventually(lambda: first in nginx.written())
    variables = {"LOGS": str(nginx.logs), "PID": str(nginx.logs.parent / "nginx.pid")}
    rotating = subprocess.Popen(
        [DEPLOY / "rotate"], env={**os.environ, **variables}, start_new_session=True
    )
    rotating.wait()  # it goes on in the background
    try:
        # gzip removes the file it has read when all of it is in the other one.
        assert eventually(lambda: [*nginx.logs.glob("access.log-*.gz")])
        assert eventually(lambda: not [*nginx.logs.glob("access.log-*[0-9]")])
    finally:
        os.killpg(rotating.pid, signal.SIGTERM)
    (rotated,) = nginx.logs.glob("access.log-*.gz")
    assert first in gzip.decompress(rotated.read_bytes()).decode()
    second = nginx.get("/me").headers["request-id"]
    assert eventually(lambda: second in (nginx.logs / "access.log").read_text())


def test_compose_file_has_variables_that_exist_and_the_owner_s_url_for_migrations_only() -> None:
    images = {name: each for name, each in compose().items() if "build" in each}
    for name, each in images.items():
        given = set(each["environment"])
        assert given <= set(env.VARIABLES), name
        assert {each.name for each in env.VARIABLES.values() if each.default is None} <= given, name
        assert ("DATABASE_OWNER_URL" in given) == (name == "prepare")


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


MANIFESTS = sorted((DEPLOY / "kubernetes").iterdir())


def resources() -> list[dict[str, Any]]:
    return [each for file in MANIFESTS for each in yaml.safe_load_all(file.read_text())]


def pods() -> dict[str, dict[str, Any]]:
    """The pods' specifications by the names of what makes them."""
    found = {}
    for each in resources():
        spec = each.get("spec", {})
        spec = spec.get("jobTemplate", {}).get("spec", spec)
        if "template" in spec:
            found[each["metadata"]["name"]] = spec["template"]["spec"]
    return found


def test_manifests_of_kubernetes_are_valid(tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("kubernetes-validate")), "--strict"]
    done = subprocess.run([*command, *map(str, MANIFESTS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text((DEPLOY / "kubernetes/instances.yaml").read_text().replace("args:", "argz:"))
    assert subprocess.run([*command, str(wrong)], capture_output=True).returncode


def test_pods_of_kubernetes_are_as_restricted_as_the_units() -> None:
    for name, pod in pods().items():
        assert pod["securityContext"]["runAsNonRoot"], name
        assert pod["automountServiceAccountToken"] is False, name
        (container,) = pod["containers"]
        assert container["securityContext"] == {
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }, name
        assert container["resources"]["limits"]["memory"], name
        assert re.search(r":\d+\.\d+\.\d+$", container["image"]), name


def test_pods_of_kubernetes_have_the_variables_that_they_need_and_no_other_secret() -> None:
    maps = {
        (each["kind"], each["metadata"]["name"]): set(each.get("data") or each["stringData"])
        for each in resources()
        if each["kind"] in ("ConfigMap", "Secret")
    }
    required = {each.name for each in env.VARIABLES.values() if each.default is None}
    for name, pod in pods().items():
        given: set[str] = set()
        for source in pod["containers"][0]["envFrom"]:
            ((kind, reference),) = source.items()
            given |= maps["Secret" if kind == "secretRef" else "ConfigMap", reference["name"]]
        assert required <= given <= set(env.VARIABLES), name
        assert ("DATABASE_OWNER_URL" in given) == ("migrate" in name), name
        assert ("AUDIT_SIGNING_KEY" in given) == name.endswith("-sealer"), name


def test_timers_of_kubernetes_run_what_the_units_run() -> None:
    timers = {
        name.removeprefix("documents-api-"): pod["containers"][0]["args"][0]
        for name, pod in pods().items()
        if pod.get("restartPolicy") == "Never" and "migrate" not in name
    }
    for unit in ONESHOTS:
        command = re.findall(r"manage\.py (\w+)", unit.read_text())[0]
        # There is no log of nginx.
        if command != "record_download_completions":
            assert timers.pop(unit.stem.removeprefix("documents-api-")) == command
    assert not timers
