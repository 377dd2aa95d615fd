"""The client, installed from the service by the lines of the documentation's start page."""

import os
import subprocess
from pathlib import Path

import httpx
import pytest

from tests.support.docs import samples
from tests.support.factories import Tenant
from tests.support.proxy import HOST
from tests.support.server import ROOT, Server

# Packages that some commands need.
MORE = "import boto3, cryptography, mcp, standardwebhooks"


def test_client_is_installed_from_the_service_and_names_a_missing_package(
    service: Server, acme: Tenant, tmp_path: Path
) -> None:
    base = f"http://{HOST}:{service.port}"
    cache = str(Path.home() / ".cache" / "pip")
    environment = os.environ | {"HOME": str(tmp_path), "PYTHONPATH": "", "PIP_CACHE_DIR": cache}
    environment["PIP_COMPILE"] = "0"  # most modules are never imported here

    def run(*words: str | Path, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(words, env=environment, capture_output=True, text=True)
        if "CI" not in os.environ and "No matching distribution" in done.stderr:
            pytest.skip("pip cannot reach its registry")
        assert done.returncode == status, done.stderr
        return done

    lines = samples(httpx.get(f"{base}/api/docs").text)["install"]["shell"]
    run("bash", "-euc", lines)
    programs = tmp_path / "dtd" / "bin"
    run(programs / "python", "-c", MORE)
    [package] = programs.parent.glob("lib/*/site-packages/dtd")
    assert (package / "py.typed").exists()
    program = (ROOT / "examples" / "verify_evidence.py").read_bytes()
    assert (package / "verify_evidence.py").read_bytes() == program

    environment |= {"DTD_API_KEY": acme.raw, "DTD_BASE_URL": base}
    assert "Acme" in run(programs / "dtd", "me").stdout
    run(programs / "pip", "uninstall", "--yes", "standardwebhooks")
    done = run(programs / "dtd", "listen", "--forward", "http://localhost:1", status=2)
    assert done.stderr == "dtd: standardwebhooks is missing: pip install standardwebhooks\n"
