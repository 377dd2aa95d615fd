"""What ROLE decides, in processes that are started with it.

The fast tests of the API have all of it but the installed apps, which a process keeps.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import factories, openapi
from tests.support import server as servers
from tests.support.factories import Tenant
from tests.support.openapi import SCHEMA
from tests.support.server import ROOT, serving_environment

# Starts as granian starts it, and requests each path.
PROGRAM = """
import json, sys
from config.wsgi import application
from django.apps import apps
from django.test import Client

key, *paths = sys.argv[1:]
responses = {}
for path in paths:
    response = Client().get(path, headers={"Authorization": key, "Host": "localhost"})
    headers = {name.lower(): value for name, value in response.items()}
    responses[path] = response.status_code, headers, response.getvalue().decode("latin-1")
print(json.dumps([[each.name for each in apps.get_app_configs()], responses]))
"""
APPS_OF_PAGES = {
    "django.contrib.admin",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "django_otp",
    "django_otp.plugins.otp_static",
    "django_otp.plugins.otp_totp",
}

pytestmark = pytest.mark.usefixtures("transactional_db")


def process(role: str, tenant: Tenant, *paths: str, folder: Path = ROOT) -> tuple[set[str], Any]:
    """The apps of a process with the role; and path → status, headers and body for the tenant."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, tenant.bearer, *paths],
        cwd=folder,
        env={**serving_environment(), "DATABASE_URL": servers.test_database_url(), "ROLE": role},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    apps, responses = json.loads(done.stdout)
    return set(apps), responses


def test_process_of_the_api_serves_each_endpoint_without_the_apps_of_pages(acme: Tenant) -> None:
    document = factories.document(acme.workspace)
    endpoints = [path.replace("{id}", str(document.id)) for path in SCHEMA["paths"]]
    others = {"/healthz": 200, "/readyz": 200, "/metrics": 200, "/api/v1/nothing": 404}
    others |= {"/admin/login/": 404, "/api/docs": 404, "/": 404}
    apps, responses = process("api", acme, *endpoints, *others)
    assert not APPS_OF_PAGES & apps
    for path, (status, headers, body) in responses.items():
        assert status == others.get(path, 200), path
        openapi.check_response("GET", path, status, headers, body.encode("latin-1"))
        assert status == 200 or json.loads(body) == {"error": "The API has no such path."}


def test_process_of_pages_has_no_api(acme: Tenant) -> None:
    apps, responses = process("pages", acme, "/api/v1/me", "/admin/login/", "/readyz")
    assert [status for status, _, _ in responses.values()] == [404, 200, 200]
    assert apps >= APPS_OF_PAGES


@pytest.mark.slow
def test_command_has_all_apps_whatever_the_role() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "showmigrations", "--plan"],
        cwd=ROOT,
        env={**os.environ, "ROLE": "api"},
        capture_output=True,
        text=True,
    )
    assert "otp_totp.0001_initial" in done.stdout, done.stderr


@pytest.mark.slow
def test_contributing_adds_an_endpoint_to_the_process_of_the_api(
    acme: Tenant, tmp_path: Path
) -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    section = text.partition("## Add an endpoint")[2].partition("##")[0]
    [(module, view)] = re.findall(r"^1\. A view on `([\w.]+)\.(\w+)`", section, re.MULTILINE)
    [(file, urls)] = re.findall(r"^2\. `(\S+)`: its path, in the list `(\w+)`", section, re.M)
    for each in ROOT.iterdir():
        if each.name != "config":
            (tmp_path / each.name).symlink_to(each)
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "greeting.py").write_text(
        f"from rest_framework.response import Response\nfrom {module} import {view}\n"
        f"class Greeting({view}):\n"
        f"    def retrieve(self, request):\n"
        f"        return Response({{'hello': request.auth.name}})\n"
    )
    line = '    path("api/v1/greeting", Greeting.as_view({"get": "retrieve"})),\n'
    changed = (tmp_path / file).read_text().replace(f"{urls} = [\n", f"{urls} = [\n{line}")
    (tmp_path / file).write_text(f"from greeting import Greeting\n{changed}")
    _, responses = process("api", acme, "/api/v1/greeting", folder=tmp_path)
    status, headers, body = responses["/api/v1/greeting"]
    assert (status, json.loads(body)) == (200, {"hello": acme.key.name})
    assert "ratelimit" in headers
    assert (headers["cache-control"], headers["vary"]) == ("no-store", "Authorization")
