"""The image of deploy/Containerfile, built for real, and each of its commands in a container.

`make drill` runs these tests; `make test-all` does not, since they take four minutes.
"""

import contextlib
import re
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from audit.models import Action, AuditEntry, Checkpoint
from config.runtime.ports import free_port
from events.webhooks.models import Process
from tests.support import factories, seals, server
from tests.support.containers import Container, Podman
from tests.support.database import new_database, url_of
from tests.support.factories import Tenant
from tests.support.nginx import Nginx
from tests.support.proxy import HOST
from tests.support.server import ROOT, eventually, serving_environment

DEPLOY = ROOT / "deploy"

PASSED = ("SECRET_KEY", "REDIS_URL", "S3_", "ALLOWED_HOSTS", "AUDIT_")
# No usage is written while the next test runs.
QUIET = {"HTTPS_ONLY": "no", "USAGE_FLUSH_SECONDS": "86400"}


@pytest.fixture(scope="module")
def podman() -> Iterator[Podman]:
    # podman wants a short path.
    engine = Podman(Path(tempfile.mkdtemp(prefix="podman-")))
    try:
        engine.build()
        yield engine
    finally:
        engine.remove()


def variables(**more: str) -> dict[str, str]:
    """What a container of the service gets."""
    passed = {k: v for k, v in serving_environment().items() if k.startswith(PASSED)}
    return {**passed, "DATABASE_URL": server.test_database_url(), **QUIET, **more}


@contextlib.contextmanager
def running(
    podman: Podman, *words: str, options: tuple[str, ...] = (), given: dict[str, str] | None = None
) -> Iterator[Container]:
    """A container with this command, which must end well when it is asked to stop."""
    container = Container(podman, variables(**(given or {})), *words, options=options)
    try:
        yield container
    finally:
        status = container.stop()
    # 143: the signal came while it was starting.
    assert status in (0, 143), container.log()


@pytest.mark.parametrize("command", ["serve", "pages"])
def test_instance_serves_read_only_and_not_as_root(
    podman: Podman, acme: Tenant, transactional_db: None, command: str
) -> None:
    port, metrics = str(free_port()), str(free_port())
    ports = ("--port", port, "--metrics-port", metrics)
    with running(podman, command, *ports) as container:
        url = f"http://{HOST}:{port}"
        assert eventually(lambda: container.says_healthy(port, "/healthz")), container.log()
        assert not container.says_healthy(str(free_port()), "/healthz")
        key = {"Authorization": f"Bearer {acme.raw}"}
        assert httpx.get(f"{url}/api/v1/me", headers=key).status_code == 200
        page = httpx.get(f"{url}/admin/login/", timeout=30)
        assert page.status_code == 200
        style = re.findall(r'"(/static/[^"]+css)"', page.text)[0]
        assert httpx.get(f"{url}{style}").status_code == 200
        assert "documents_requests_total" in httpx.get(f"http://{HOST}:{metrics}/metrics").text
        # The manifests of Kubernetes have the user's number.
        assert container.execute("id", "-u").strip() == "999"
        container.execute("touch", "deploy/written", status=1)


def test_image_serves_by_default_and_checks_its_health(
    podman: Podman, transactional_db: None
) -> None:
    with running(podman) as container:  # on the port 8001
        assert eventually(container.is_healthy), container.log()


def test_migrate_makes_the_tables(podman: Podman) -> None:
    with new_database("image") as name:
        urls = {each: url_of(name, each) for each in ("DATABASE_URL", "DATABASE_OWNER_URL")}
        words = podman.words(variables(**urls))
        podman("run", "--rm", *words, "migrate", "--no-input", patience=300)
        assert "No migrations to apply" in podman("run", "--rm", *words, "migrate", "--no-input")


def test_management_commands_run_too(podman: Podman) -> None:
    printed = podman("run", "--rm", *podman.words(variables()), "list_variables")
    assert "| `SECRET_KEY` | required |" in printed


def test_key_of_the_audit_log_is_made_as_the_example_says(podman: Podman) -> None:
    example = f"--env-file={DEPLOY / 'env.example'}"
    words = podman.words({"SECRET_KEY": secrets.token_hex(32)}, example)
    assert "--env-file deploy/env.example" in (DEPLOY / "compose.env.example").read_text()
    printed = podman("run", "--rm", *words, "make_audit_key", "api.example.com/audit")
    assert re.search("^AUDIT_SIGNING_KEY=.+\nAUDIT_PUBLIC_KEYS=.+", printed, re.MULTILINE)


def test_deliver_delivers_until_it_is_stopped(podman: Podman, transactional_db: None) -> None:
    port = str(free_port())
    with running(podman, "deliver", "--metrics-port", port) as container:
        assert eventually(Process.objects.exists), container.log()
        assert container.says_healthy(port, "/metrics")


def test_seal_seals_until_it_is_stopped(
    podman: Podman, acme: Tenant, transactional_db: None
) -> None:
    sealer = {"DATABASE_SEALER_URL": _of_the_tests("DATABASE_SEALER_URL")}
    given = {**seals.VARIABLES, **sealer, "AUDIT_WITNESSES": "stdout"}
    with running(podman, "seal", given=given) as container:
        assert eventually(Checkpoint.objects.exists), container.log()
        assert container.says_healthy()


def _of_the_tests(variable: str) -> str:
    name = server.test_database_url().rpartition("/")[2]
    return url_of(name, variable)


def test_housekeeping_runs_once(podman: Podman, transactional_db: None) -> None:
    podman("run", "--rm", *podman.words(variables()), "housekeeping")


def test_every_runs_a_command_again_and_reports_a_failure(
    podman: Podman, acme: Tenant, transactional_db: None
) -> None:
    with running(podman, "every", "0.1s", "1m", "list_variables") as container:
        assert eventually(lambda: container.log().count("`SECRET_KEY`") > 1), container.log()
        assert container.says_healthy()
    with running(podman, "every", "0.1s", "1m", "no_such_command") as container:
        assert eventually(lambda: container.log().count("Failed: no_such_command") > 1)
        assert not container.says_healthy()
    with running(podman, "every", "1d", "4s", "housekeeping", "--follow") as container:
        assert eventually(lambda: "Failed: housekeeping" in container.log()), container.log()


@pytest.mark.parametrize("words", [("completions",), ("every", "1h", "1h", "rotated")])
def test_completions_of_nginx_are_recorded(
    podman: Podman, nginx: Nginx, acme: Tenant, words: tuple[str, ...]
) -> None:
    document = factories.document(acme.workspace)
    response = nginx.get(f"/documents/{document.id}/download", acme.raw)
    rotated = nginx.rotate()
    assert eventually(lambda: response.headers["request-id"] in rotated.read_text())
    if words == ("completions",):
        nginx.get(f"/documents/{document.id}/download", acme.raw)
    nginx.logs.chmod(0o755)
    for log in nginx.logs.iterdir():
        log.chmod(0o644)  # as in nginx's container
    mounted = (f"--volume={nginx.logs}:/var/log/documents-api:ro",)
    with running(podman, *words, options=mounted) as container:
        ended = AuditEntry.objects.filter(action=Action.DOWNLOAD_ENDED)
        assert eventually(ended.exists), container.log()
