"""pyproject.toml names the packages that the product imports, and no others."""

import ast
import re
import sys
import tomllib
from importlib.metadata import files

from tests.support.server import ROOT

APPS = ("apikeys", "audit", "config", "documents", "events", "workspaces")
# Imported by Django or by a driver, as the settings name them; `run` has the rest of `make run`.
NAMED_ONLY = {"boto3", "django-storages", "granian", "whitenoise"}
# By a named package whose types or errors they are; mypy-boto3-s3 is for mypy only.
BROUGHT_ALONG = {"anyio", "asgiref", "botocore", "mypy-boto3-s3", "urllib3"}


def test_runtime_dependencies_are_those_that_are_imported() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    named = {re.split(r"[\[>=;]", each)[0] for each in project["project"]["dependencies"]}
    imported = set()
    for file in [file for app in APPS for file in (ROOT / app).rglob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and not node.level:
                imported.add((node.module or "").partition(".")[0])
            elif isinstance(node, ast.Import):
                imported |= {alias.name.partition(".")[0] for alias in node.names}
    foreign = imported - {*APPS, "manage", *sys.stdlib_module_names}
    modules = {
        package: {each.parts[0].removesuffix(".py") for each in files(package) or ()}
        for package in named | BROUGHT_ALONG
    }
    assert foreign <= set().union(*modules.values())
    assert named - NAMED_ONLY <= {package for package in named if modules[package] & foreign}


def test_no_test_imports_from_a_test_module() -> None:
    """What two modules need is in tests/support."""
    modules = [*(ROOT / "tests").rglob("*.py"), *(ROOT / "bench").rglob("*.py")]
    found = [
        str(each.relative_to(ROOT))
        for each in modules
        if re.search(r"^(from|import) tests[.]\w+[.]test_", each.read_text(), re.MULTILINE)
    ]
    assert found == []
