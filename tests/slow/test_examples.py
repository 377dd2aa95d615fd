"""The programs in examples/: what all of them have in common."""

from pathlib import Path

import pytest

from tests.support import factories
from tests.support.examples import Examples
from tests.support.factories import Tenant
from tests.support.server import ROOT, Server

ID = str(factories.uid(1))
PROGRAMS = {
    "attach": [ID],
}
OFFLINE = {"verify_evidence"}  # needs no service (`tests/slow/test_examples_evidence.py`)
SERVERS = {"receive"}  # `tests/slow/test_examples_receive.py`


def test_examples_are_all_tested() -> None:
    assert {file.stem for file in (ROOT / "examples").glob("*.py")} == (
        OFFLINE | SERVERS | set(PROGRAMS)
    )


@pytest.mark.parametrize("name", PROGRAMS)
def test_examples_help_names_the_variables(examples: Examples, name: str) -> None:
    examples.environment = {}
    printed = examples.run(name, "--help")
    assert printed.startswith(f"usage: {name}.py")
    assert "DTD_BASE_URL" in printed
    assert "DTD_API_KEY" in printed


WRONG = {
    "no key": ({"DTD_API_KEY": ""}, "There is no key: set DTD_API_KEY."),
    "nothing": (
        {"DTD_API_KEY": "", "DTD_BASE_URL": ""},
        "There is no key: set DTD_API_KEY.",
    ),
    "a wrong key": (
        {"DTD_API_KEY": "dtd_wrong"},
        "A valid API key is required. Send it in the header 'Authorization: Bearer dtd_...'; "
        "a workspace admin can create one in the developer settings.",
    ),
    **{
        f"a character no key has: {raw!r}": (
            {"DTD_API_KEY": raw},
            "The key has a character that is in no key; copy it again.",
        )
        for raw in ("dtd_ключ", "dtd_\u200b", "dtd_a\nb", "dtd_\x7f")
    },
    "an address with another path": (
        {"DTD_BASE_URL": "{base}/api/v1/me"},
        "The API has no such path.",
    ),
    "no scheme": (
        {"DTD_BASE_URL": "service.example"},
        "The base URL must be the service's address, https://…: set DTD_BASE_URL.",
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_examples_print_one_clear_line_if_a_variable_is_wrong(
    examples: Examples, wrong: str
) -> None:
    changed, line = WRONG[wrong]
    base = examples.environment["DTD_BASE_URL"]
    examples.environment |= {name: text.format(base=base) for name, text in changed.items()}
    for name, words in PROGRAMS.items():
        printed = examples.run(name, *words, status=1)
        assert printed.endswith(f"{line}\n")
        assert printed.count("\n") == 1


def test_examples_print_one_clear_line_for_a_workspace_without_api_access(
    tmp_path: Path, server: Server, freebie: Tenant, frozen: Tenant
) -> None:
    for tenant, word in ((freebie, "plan"), (frozen, "suspended")):
        refused = Examples(tmp_path, server, tenant)
        for name, words in PROGRAMS.items():
            printed = refused.run(name, *words, status=1)
            assert word in printed
            assert printed.count("\n") == 1
